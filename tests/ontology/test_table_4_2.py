"""Table 4.2 of the thesis: its classes and fields, in its own spellings."""

import pytest
from rdflib import RDF, RDFS, SKOS, BNode, URIRef
from rdflib.term import Node

from ontology.load import alignment_graph, context, ontology_graph
from ontology.terms import PREFIXES, ST

TELEMETRY = ("name", "instance", "samplerName", "DBName")
RUN = ("no_threads", "involved_threads", "modifier", "dashboard")
SAMPLED = ("sampled_sw_metrics", "sampled_hw_metrics")
TABLE = {
    "Interface": ("contents", "displayName", "dashboard"),
    "ProcessInterface": ("contents", "displayName", "dashboard"),
    "SWTelemetry": TELEMETRY,
    "HWTelemetry": (*TELEMETRY, "PMUName"),
    "BenchmarkInterface": ("contents", "displayName"),
    "BenchmarkResult": ("field", *RUN, *SAMPLED, "result", "unit"),
    "ObservationInterface": (*RUN, *SAMPLED, "displayName", "time", "command", "tag"),
}
FIELDS = [(name, field) for name, fields in TABLE.items() for field in fields]
TERMS = context()["@context"]
# In JSON-LD, `unit:` is the prefix of QUDT's units, so the field has its own short
# name.
RENAMED = {"unit": "hasUnit"}


def _iri(name: str) -> URIRef:
    found = TERMS[RENAMED.get(name, name)]
    prefix, _, local = (found["@id"] if isinstance(found, dict) else found).partition(
        ":"
    )
    return URIRef(PREFIXES[prefix] + local)


def _members(node: Node) -> set[Node]:
    graph = ontology_graph()
    union = URIRef("http://www.w3.org/2002/07/owl#unionOf")
    if not isinstance(node, BNode):
        return {node}
    return {one for found in graph[node:union] for one in graph.items(found)}


@pytest.mark.parametrize("name", TABLE)
def test_every_class_of_the_table_exists(name: str) -> None:
    assert (_iri(name), RDF.type, None) in ontology_graph()


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_every_field_of_the_table_is_a_property_of_its_class(
    name: str, field: str
) -> None:
    graph, term = ontology_graph(), _iri(field)
    assert (term, RDF.type, None) in graph or term in (RDFS.label, RDFS.comment), field
    domain = graph.value(term, RDFS.domain)
    upwards = set(graph.transitive_objects(_iri(name), RDFS.subClassOf))
    assert domain is None or _members(domain) & upwards, f"{field} is none of {name}"


@pytest.mark.parametrize("name", TABLE)
def test_every_class_of_the_table_is_matched_to_dtdl(name: str) -> None:
    upwards = ontology_graph().transitive_objects(_iri(name), RDFS.subClassOf)
    matches = [
        match for each in upwards for match in alignment_graph()[each : SKOS.closeMatch]
    ]
    assert [match for match in matches if match.startswith("dtmi:dtdl:class:")]


def test_own_terms_shadow_no_prefix() -> None:
    assert all(isinstance(TERMS[prefix], str) for prefix in PREFIXES)
    assert ST.hasUnit not in set(ontology_graph().subjects())
