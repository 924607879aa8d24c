"""Loading new hosts, and the serialisation of triples, on a real store."""

import threading
from typing import Any

import pytest
from rdflib import Graph, Literal, URIRef

from ingest.description import Description
from ingest.errors import NotConformingError
from ingest.load.catalogues import read_catalogues
from ingest.load.fast_load import hosts_with_mixed_graphs, pack, send, unknown_hosts
from ingest.load.publish import TwinStores, publish
from ingest.triples import Triples, insertion, quads
from ontology.terms import PROV, ST
from tests.ingest.documents import IRIS, PCP, describe_json, document

GRAPHS = [URIRef("urn:g:1"), URIRef("http://localhost:8000/graph/twin/n1")]
TEXTS = ["", "plain", 'quo"te', "back\\slash", "two\nlines", "tab\tand\rmore", "é😀'"]
ENDS = ["a", "a.b", "a.", ".a", "-a", "a-", "~2F", "~", "", "0", "a_b", "a~~b", "é"]


def odd() -> Triples:
    """Terms that an abbreviated syntax may get wrong."""
    found = Triples()
    for number, end in enumerate(ENDS):
        node = URIRef(f"http://localhost:8000/twin/n1/{end}")
        found.append((node, URIRef(f"urn:x#{end}"), node))
        for text in TEXTS:
            found.append((node, ST.model, Literal(f"{text}{number}")))
        found.append((node, ST.osIndex, Literal(number)))
        found.append((node, ST.allowed, Literal(number % 2 == 0)))
    return found


def test_both_spellings_are_equivalent(store: TwinStores) -> None:
    graphs = {
        GRAPHS[0]: odd(),
        GRAPHS[1]: Triples(odd()[:7]),
        URIRef("urn:e"): Triples(),
    }
    store.twin.update(insertion(graphs))
    store.history.add_quads(quads(graphs))
    for dataset in (store.twin, store.history):
        for graph, triples in graphs.items():
            assert set(dataset.get_graph(graph)) == set(triples)


def described(day: int, host: str = "n1", **facts: Any) -> Description:
    stamps = {"started": f"2026-11-{day:02}T00:00:00Z"}
    stamps["ended"] = stamps["started"]
    return describe_json(
        document({"os": {"kernel": f"6.{day}"}, **facts}, host) | stamps, IRIS
    )


def test_host_is_known_if_any_dataset_mentions_it(store: TwinStores) -> None:
    hosts = ["n1", "n2", "n3", "n4"]
    assert unknown_hosts(store.twin, store.history, IRIS, hosts) == {*hosts}
    send(store.twin, store.history, [pack(described(1), IRIS, {})])
    fact = Triples([(IRIS.host("n2"), ST.alias, Literal("x"))])
    store.twin.add_quads(quads({IRIS.register_graph("n2"): fact}))
    store.history.add_quads(quads({IRIS.history_graph("n3"): fact}))
    assert unknown_hosts(store.twin, store.history, IRIS, hosts) == {"n4"}


def test_concurrent_writers_of_a_new_host_leave_one_probe(store: TwinStores) -> None:
    """The writer that sees both probes rewrites the host, so only one probe remains."""
    for number in range(8):
        host, gate = f"n{number}", threading.Barrier(2)

        def write(day: int, host: str = host, gate: Any = gate) -> None:
            made = described(day, host)
            known = read_catalogues(store.twin, IRIS)
            gate.wait()
            publish(made, store, IRIS, catalogues=known)

        threads = [threading.Thread(target=write, args=(day,)) for day in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        graph = store.twin.get_graph(IRIS.twin_graph(host))
        node = IRIS.host(host)
        assert len(list(graph.objects(node, PROV.wasGeneratedBy))) == 1
        assert len(list(graph.objects(node, ST.digest))) == 1
        assert len(list(graph.objects(node, ST.kernelRelease))) == 1


def test_mixed_hosts_are_detected(store: TwinStores) -> None:
    for day in (1, 2):
        send(store.twin, store.history, [pack(described(day), IRIS, {})])
    send(store.twin, store.history, [pack(described(1, "n2"), IRIS, {})])
    assert hosts_with_mixed_graphs(store.twin, IRIS, ["n1", "n2", "n3"]) == {"n1"}


def test_stored_metrics_are_not_validated_again(store: TwinStores) -> None:
    first = described(1, pcp=PCP)
    publish(first, store, IRIS)
    known = read_catalogues(store.twin, IRIS)
    assert read_catalogues(store.twin, IRIS, known) is known
    faulty = {"pcp": PCP, "disks": [{"name": "sda", "size": -1}]}
    facts = document(faulty, "n2")
    second = describe_json(facts, IRIS, [], known.metrics, known.models)
    assert not [s for s, _, o in second.metrics if o == ST.Metric]
    assert second.held == {s for s, _, o in first.metrics if o == ST.Metric}
    with pytest.raises(NotConformingError) as caught:
        publish(second, store, IRIS, catalogues=known)
    assert len(caught.value.lines) == 1
    assert "disk/sda" in caught.value.lines[0]
    assert unknown_hosts(store.twin, store.history, IRIS, ["n2"])


def test_unknown_metric_is_still_an_error(store: TwinStores) -> None:
    publish(described(1, pcp=PCP), store, IRIS)
    known = read_catalogues(store.twin, IRIS)
    facts = document({"pcp": PCP}, "n2")
    made = describe_json(facts, IRIS, [], known.metrics, known.models)
    store.twin.update(f"DROP GRAPH <{IRIS.metrics_graph}>")
    nothing = Graph()
    assert store.twin.get_graph(IRIS.metrics_graph).isomorphic(nothing)
    made.twin.append((IRIS.host("n2"), ST.exposes, IRIS.metric("made.up")))
    with pytest.raises(NotConformingError, match="fault"):
        publish(made, store, IRIS, catalogues=known)
