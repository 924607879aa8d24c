import json

import pytest
from rdflib import RDF, RDFS, Graph, Literal, URIRef
from rdflib.compare import isomorphic

from ontology.load import FOLDER, context, ontology_graph
from ontology.make_context import ALIASES, make_context
from ontology.terms import PREFIXES, QUDT, ST

# rdflib's own JSON-LD parser uses a class that rdflib deprecates.
pytestmark = pytest.mark.filterwarnings(
    "ignore:ConjunctiveGraph is deprecated:DeprecationWarning"
)

TERMS = context()["@context"]
CASES = sorted((FOLDER.parent / "tests/shapes").glob("*/valid*.ttl"))


def _compacted(graph: Graph) -> str:
    return graph.serialize(format="json-ld", context=TERMS)


def _expanded(document: dict[str, object]) -> Graph:
    text = json.dumps({"@context": TERMS, **document})
    return Graph().parse(data=text, format="json-ld")


def test_context_is_up_to_date() -> None:
    """Run ``python -m ontology.make_context`` after the ontology has changed."""
    assert context() == make_context(ontology_graph())


def test_every_term_has_its_short_name() -> None:
    own = {s for s in ontology_graph().subjects(RDF.type) if s.startswith(str(ST))}
    assert {term.removeprefix(str(ST)) for term in own} <= TERMS.keys()


def test_prefixes_are_known() -> None:
    assert {name: TERMS[name] for name in PREFIXES} == PREFIXES


@pytest.mark.parametrize(
    "path", CASES, ids=lambda path: f"{path.parent.name}.{path.stem}"
)
def test_graph_round_trips(path: object) -> None:
    graph = Graph().parse(path)
    again = Graph().parse(data=_compacted(graph), format="json-ld")
    assert isomorphic(graph, again)


@pytest.mark.parametrize(
    "path", CASES, ids=lambda path: f"{path.parent.name}.{path.stem}"
)
def test_compaction_uses_canonical_short_names_only(path: object) -> None:
    document = json.loads(_compacted(Graph().parse(path)))
    nodes = document.get("@graph", [document])
    names = {name for node in nodes for name in node} - {"@context"}
    assert not names & ALIASES.keys()
    assert not [name for name in names if ":" in name]


def test_values_are_as_short_as_json_allows() -> None:
    thread = URIRef("http://localhost:8000/twin/n1/thread/0")
    graph = Graph().parse(FOLDER.parent / "tests/shapes/cache/valid.ttl")
    document = json.loads(_compacted(graph))
    by_id = {node["@id"]: node for node in document["@graph"]}
    cache = by_id[f"{thread.removesuffix('thread/0')}cache/l2-0"]
    assert cache["@type"] == "Cache"
    assert cache["cacheType"] == "UnifiedCache"
    assert cache["cacheSize"] == 2097152
    assert cache["inclusive"] is False
    assert by_id[str(thread)]["usesCache"] == cache["@id"]


def test_spellings_of_the_thesis_are_understood() -> None:
    graph = _expanded(
        {
            "@id": "http://localhost:8000/t",
            "@type": ["Interface", "SWTelemetry", "HWTelemetry", "ProcessInterface"],
            "DBName": "kernel_percpu_cpu_user",
            "PMUName": "INST_RETIRED:ANY",
            "samplerName": "kernel.percpu.cpu.user",
            "instance": "cpu0",
            "displayName": "user time",
        }
    )
    (subject,) = set(graph.subjects())
    assert set(graph.objects(subject, RDF.type)) == {
        ST.Interface,
        ST.SWTelemetry,
        ST.HWTelemetry,
        ST.Process,
    }
    assert graph.value(subject, ST.dbName) == Literal("kernel_percpu_cpu_user")
    assert graph.value(subject, ST.pmuName) == Literal("INST_RETIRED:ANY")
    assert graph.value(subject, ST.samplerName) == Literal("kernel.percpu.cpu.user")
    assert graph.value(subject, ST.instname) == Literal("cpu0")
    assert graph.value(subject, RDFS.label) == Literal("user time")


@pytest.mark.parametrize(
    "name", ["ObservationInterface", "BenchmarkInterface", "BenchmarkResult"]
)
def test_classes_of_the_thesis_keep_their_names(name: str) -> None:
    graph = _expanded({"@id": "urn:x", "@type": name})
    assert set(graph.objects(None, RDF.type)) == {ST[name]}


@pytest.mark.parametrize("alias", ALIASES)
def test_alias_means_its_term(alias: str) -> None:
    value = "2.5"
    one = _expanded({"@id": "urn:x", alias: value})
    other = _expanded({"@id": "urn:x", ALIASES[alias]: value})
    assert isomorphic(one, other)


def test_typed_texts_become_typed_literals() -> None:
    graph = _expanded({"@id": "urn:x", "period": "1.0", "hasUnit": "unit:SEC"})
    (period,) = graph.objects(None, ST.period)
    assert period.n3() == '"1.0"^^<http://www.w3.org/2001/XMLSchema#decimal>'
    assert str(graph.value(None, QUDT.hasUnit, any=True)) != "unit:SEC"
    assert set(graph.objects(None, QUDT.hasUnit)) == {
        URIRef("http://qudt.org/vocab/unit/SEC")
    }


def test_unknown_names_get_no_iri() -> None:
    assert len(_expanded({"@id": "urn:x", "numberOfLegs": 4})) == 0
