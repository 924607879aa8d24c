"""Publishing to a real store: one update, merged catalogues and a kept history."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rdflib import Graph, Literal

from core.stores.endpoint import Endpoint
from ingest.errors import NotConformingError, OtherMachineError
from ingest.load.catalogues import read_catalogues
from ingest.load.publish import TwinStores, publish
from ontology.iris import Iris
from ontology.terms import PROV, ST
from tests.ingest.documents import describe_json
from tests.stack import Stack

pytestmark = pytest.mark.e2e


MACHINES = [f"{number}d1219c7c4c5404aaa1f6d2a48adfda4" for number in range(4)]


@pytest.fixture
def store(stack: Stack) -> Iterator[TwinStores]:
    url = stack.fuseki
    with Endpoint(f"{url}/twin") as twin, Endpoint(f"{url}/history") as history:
        yield TwinStores(twin, history)


@pytest.fixture
def iris(stack: Stack) -> Iris:
    return Iris(stack.base)


def facts(
    host: str, machine: str | None = None, units: str = "count"
) -> dict[str, Any]:
    metric = {
        "name": "test.published.metric",
        "pmid": "60.0.0",
        "type": "u64",
        "semantics": "counter",
        "units": units,
        "indom": None,
        "help": f"seen on {host}",
    }
    return {
        "format": "supertwin-probe/1",
        "host": host,
        "started": "2026-11-21T00:00:00Z",
        "ended": "2026-11-21T00:00:02Z",
        "sources": {"pcp": {"ok": True, "seconds": 0.1, "reason": None}},
        "facts": {
            "os": {"kernel": "6.1.0", "machine_id": machine},
            "pcp": {"metrics": [metric], "indoms": {}, "pmdas": {"60": "linux"}},
        },
    }


def load(store: TwinStores, iris: Iris, document: dict[str, Any], **more: Any) -> bool:
    names = ["test.published.metric"]
    known = read_catalogues(store.twin, iris)
    description = describe_json(document, iris, names, known.metrics, known.models)
    return publish(description, store, iris, **more).changed


def test_equal_facts_change_nothing(store: TwinStores, iris: Iris) -> None:
    assert load(store, iris, facts("same"))
    times = {"started": "2027-01-01T00:00:00Z", "ended": "2027-01-01T00:00:01Z"}
    later = facts("same") | times
    assert not load(store, iris, later)
    seen = store.twin.select(
        f'SELECT ?t {{ ?h <{ST.hostname}> "same" ; <{PROV.wasGeneratedBy}> ?p . '
        f"?p <{PROV.startedAtTime}> ?t }}"
    ).rows
    assert [str(time) for (time,) in seen] == ["2027-01-01T00:00:00+00:00"]
    graph = iris.twin_graph("same")
    sources = f"SELECT ?s {{ GRAPH <{graph}> {{ ?s a <{ST.ProbeSource}> }} }}"
    assert len(store.twin.select(sources).rows) == 1


def test_new_probe_replaces_the_twin_and_keeps_the_old_one(
    store: TwinStores, iris: Iris
) -> None:
    document = facts("kept")
    load(store, iris, document)
    document["facts"]["os"]["kernel"] = "6.2.0"
    assert load(store, iris, document)
    query = f'SELECT ?k {{ ?h <{ST.hostname}> "kept" ; <{ST.kernelRelease}> ?k }}'
    assert [[str(k)] for (k,) in store.twin.select(query).rows] == [["6.2.0"]]
    old = (
        f"SELECT ?k {{ ?state <{ST.removedGraph}> ?g . "
        f"GRAPH ?g {{ <{iris.host('kept')}> <{ST.kernelRelease}> ?k }} }}"
    )
    assert [str(k) for (k,) in store.history.select(old).rows] == ["6.1.0"]


def test_lost_plan_is_restored_by_an_equal_probe(store: TwinStores, iris: Iris) -> None:
    load(store, iris, facts("replanned"))
    graph = iris.plans_graph("replanned")
    store.twin.update(f"DROP GRAPH <{graph}>")
    assert load(store, iris, facts("replanned"))
    assert store.twin.ask(f"ASK {{ GRAPH <{graph}> {{ ?s a <{ST.SamplingPlan}> }} }}")


def test_metric_catalogues_are_merged(store: TwinStores, iris: Iris) -> None:
    load(store, iris, facts("first"))
    load(store, iris, facts("second"))
    about = (
        f"SELECT ?c {{ <{iris.metric('test.published.metric')}> "
        "<http://www.w3.org/2000/01/rdf-schema#comment> ?c }"
    )
    assert len(store.twin.select(about).rows) == 1
    exposed = (
        f"SELECT ?h {{ ?h <{ST.exposes}> <{iris.metric('test.published.metric')}> }}"
    )
    assert {str(iris.host(h)) for h in ("first", "second")} <= {
        str(h) for (h,) in store.twin.select(exposed).rows
    }


def test_differing_descriptor_does_not_change_the_known_one(
    store: TwinStores, iris: Iris
) -> None:
    load(store, iris, facts("plain"))
    load(store, iris, facts("odd", units="byte"))
    query = (
        f'SELECT ?m ?u {{ ?m <{ST.samplerName}> "test.published.metric" ; '
        f"a <{ST.Metric}> ; <{ST.pcpUnits}> ?u }}"
    )
    found = {str(units): str(metric) for metric, units in store.twin.select(query).rows}
    assert set(found) == {"count", "byte"}
    assert "~~" in found["byte"]
    assert "~~" not in found["count"]


def test_another_machine_is_refused_until_confirmed(
    store: TwinStores, iris: Iris
) -> None:
    load(store, iris, facts("signed", machine=MACHINES[0]))
    with pytest.raises(OtherMachineError, match="--confirm"):
        load(store, iris, facts("signed", machine=MACHINES[1]))
    with pytest.raises(OtherMachineError, match="no sign"):
        load(store, iris, facts("signed", machine=None))
    load(store, iris, facts("signed", machine=None), confirm=True)
    load(store, iris, facts("signed", machine=MACHINES[2]))
    assert load(store, iris, facts("signed", machine=MACHINES[3]), confirm=True)


def test_another_machine_is_refused_on_the_command_line(
    stack: Stack, tmp_path: Path
) -> None:
    path = tmp_path / "facts.json"
    for machine, code in ((0, 0), (1, 2)):
        path.write_text(json.dumps(facts("named", machine=MACHINES[machine])))
        done = stack.run("ingest", "--probe", str(path), check=False)
        assert done.returncode == code, done.stderr
    assert "--confirm" in done.stderr
    assert stack.run("ingest", "--probe", str(path), "--confirm").returncode == 0


def test_invalid_description_changes_nothing(store: TwinStores, iris: Iris) -> None:
    load(store, iris, facts("faulty"))
    document = facts("faulty")
    document["facts"]["os"]["memory"] = -1
    with pytest.raises(NotConformingError) as refusal:
        load(store, iris, document)
    assert refusal.value.lines
    query = f'ASK {{ ?h <{ST.hostname}> "faulty" ; <{ST.memorySize}> ?m }}'
    assert not store.twin.ask(query)


def test_plans_of_users_are_kept(store: TwinStores, iris: Iris) -> None:
    load(store, iris, facts("planned"))
    graph = iris.plans_graph("planned")
    mine = iris.component("planned", "plan", "mine")
    store.twin.update(
        f"INSERT DATA {{ GRAPH <{graph}> {{ <{mine}> a <{ST.SamplingPlan}> ; "
        f'<{ST.planName}> "mine" }} }}'
    )
    document = facts("planned")
    document["facts"]["os"]["kernel"] = "6.3.0"
    load(store, iris, document)
    assert store.twin.ask(f"ASK {{ GRAPH <{graph}> {{ <{mine}> ?p ?o }} }}")
    count = (
        f"SELECT (COUNT(*) AS ?n) {{ GRAPH <{graph}> {{ ?s a <{ST.SamplingPlan}> }} }}"
    )
    assert int(store.twin.select(count).rows[0][0]) == 2


def test_control_characters_are_readable(
    stack: Stack, store: TwinStores, iris: Iris
) -> None:
    document = facts("controls")
    metric = document["facts"]["pcp"]["metrics"][0]
    metric |= {"name": "test.controls", "help": "bell \x07, nul \0, \ufffe"}
    document["facts"]["os"]["kernel"] = "6.1\x1b[31m"
    document["facts"]["disks"] = [{"name": "sd\x01a", "model": "\x08"}]
    assert load(store, iris, document)
    node = str(iris.host("controls"))
    query = f"SELECT ?o {{ {{ <{node}> ?p ?o }} UNION {{ ?s ?q <{node}> ; ?p ?o }} }}"
    table = stack.get("/sparql", "application/sparql-results+xml", query=query)
    texts = set(ElementTree.fromstring(table.content).itertext())
    assert {"6.1\ufffd[31m", "sd\ufffda", "\ufffd"} <= texts
    path = node.removeprefix(stack.base)
    assert "6.1\ufffd[31m" in json.dumps(
        stack.get(path, "application/ld+json").json(), ensure_ascii=False
    )
    whole = f"CONSTRUCT {{ <{node}> ?p ?o }} WHERE {{ <{node}> ?p ?o }}"
    for kind, form in (("application/rdf+xml", "xml"), ("text/turtle", "turtle")):
        answer = stack.get("/sparql", kind, query=whole)
        graph = Graph().parse(data=answer.content, format=form)
        assert Literal("6.1\ufffd[31m") in set(graph.objects())
