"""A host in the graph: its probe, its devices, and what changed since before."""

from rdflib import RDF

from ontology.terms import ST
from tests.ingest.documents import IRIS, PCP, describe_json, document


def test_digest_ignores_the_time_of_the_probe() -> None:
    first = document({"pcp": PCP})
    later = {**first, "started": "2027-01-01T00:00:00Z"}
    assert describe_json(first, IRIS).digest == describe_json(later, IRIS).digest
    assert describe_json(first, IRIS).digest != describe_json(document({}), IRIS).digest


def test_failed_source_is_in_the_graph_with_its_reason() -> None:
    graph = describe_json(document({}), IRIS).union()
    reasons = {str(o) for o in graph.objects(None, ST.reason)}
    assert reasons == {"lshw is not installed"}


def test_probe_without_any_facts_is_still_a_host() -> None:
    graph = describe_json(document({}), IRIS).union()
    assert list(graph.subjects(RDF.type, ST.ComputeNode)) == [IRIS.host("n1")]


def test_names_with_odd_characters_stay_distinct() -> None:
    disks = [{"name": "a b"}, {"name": "a_b"}, {"name": 'a"b'}, {"name": "a/b"}]
    graph = describe_json(document({"disks": disks}), IRIS).union()
    assert len(set(graph.subjects(RDF.type, ST.Disk))) == 4
    graph.parse(data=graph.serialize(format="nt"), format="nt")


def test_memory_banks_with_equal_names_stay_distinct() -> None:
    banks = [{"slot": "DIMM 0", "size": 1}, {"slot": "DIMM 0", "size": 2}]
    graph = describe_json(document({"lshw": {"memory_banks": banks}}), IRIS).union()
    assert len(set(graph.subjects(RDF.type, ST.MemoryBank))) == 2
