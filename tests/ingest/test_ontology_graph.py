"""The ontology in a real store, joined with the twin of a host."""

from rdflib import DCTERMS, Literal

from ingest.load.ontology import publish_ontology
from ingest.load.publish import TwinStores, publish
from ontology.load import alignment_graph, ontology_graph
from ontology.terms import PREFIXES
from tests.ingest.documents import IRIS, PCP, describe_json, document

NAMES = "".join(f"PREFIX {name}: <{iri}>\n" for name, iri in PREFIXES.items())
GRAPH = IRIS.ontology_graph


def test_every_module_and_alignment_is_in_the_store(store: TwinStores) -> None:
    assert publish_ontology(store.twin, IRIS)
    stored = store.twin.get_graph(GRAPH)
    stored.remove((GRAPH, DCTERMS.identifier, None))
    assert len(stored) == len(ontology_graph() + alignment_graph())


def test_only_another_ontology_is_replaced(store: TwinStores) -> None:
    publish_ontology(store.twin, IRIS)
    first = store.twin.get_graph(GRAPH)
    assert not publish_ontology(store.twin, IRIS)
    old = Literal("of an earlier version")
    store.twin.update(
        f"WITH <{GRAPH}> DELETE {{ <{GRAPH}> <{DCTERMS.identifier}> ?digest }} "
        f"INSERT {{ <{GRAPH}> <{DCTERMS.identifier}> {old.n3()} ; <urn:p> 1 }} "
        f"WHERE {{ <{GRAPH}> <{DCTERMS.identifier}> ?digest }}"
    )
    assert publish_ontology(store.twin, IRIS)
    assert len(store.twin.get_graph(GRAPH)) == len(first)


def test_terms_and_units_join_with_a_host(store: TwinStores) -> None:
    monitored = [metric["name"] for metric in PCP["metrics"]]
    publish(describe_json(document({"pcp": PCP}), IRIS, monitored), store, IRIS)
    publish_ontology(store.twin, IRIS)
    rows = store.twin.select(
        f"""{NAMES} SELECT DISTINCT ?label ?above ?unit ?code {{
          ?telemetry a ?class ; st:ofMetric ?metric ; st:samplerName "mem.util.free" .
          ?class rdfs:label ?label ; skos:definition ?definition ;
                 rdfs:subClassOf/rdfs:label ?above .
          ?metric qudt:hasUnit/rdfs:label ?unit ; qudt:hasUnit/qudt:ucumCode ?code }}"""
    ).values()
    assert rows == [["software telemetry", "telemetry", "kibibyte", "KiBy"]]
