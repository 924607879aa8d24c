"""What follows from the graphs of a real store, whatever is written and removed."""

from datetime import UTC, datetime
from typing import Any

import pytest
from rdflib import URIRef

from core.stores.endpoint import Endpoint
from ingest.description import Description
from ingest.hwloc.read import parse_hwloc
from ingest.load.ontology import publish_ontology
from ingest.load.publish import TwinStores, publish
from ingest.load.register import registration_delete
from ingest.named_processes import (
    NamedProcess,
    forget_process,
    name_process,
    rebind,
)
from ingest.pmu.store import publish_models, publish_roles
from ingest.schema.schema import ProbedPmu
from ontology.terms import PREFIXES
from tests.following import assert_following
from tests.ingest.documents import IRIS, PCP, describe_json, document, synthetic

NAMES = "".join(f"PREFIX {name}: <{iri}>\n" for name, iri in PREFIXES.items())
NAMES += "PREFIX sosa: <http://www.w3.org/ns/sosa/>\n"
HOST = "n1"
OWN, PLANS = IRIS.twin_graph(HOST), IRIS.plans_graph(HOST)


def described(day: int, host: str = HOST, **facts: Any) -> Description:
    stamp = f"2026-11-{day:02}T00:00:00Z"
    topology = parse_hwloc(synthetic("pack:2 numa:1 l2:2 core:1 pu:2"))
    own = {"hwloc": topology, "pcp": PCP, **facts}
    monitored = [metric["name"] for metric in PCP["metrics"]]
    stamps = {"started": stamp, "ended": stamp}
    return describe_json(document(own, host) | stamps, IRIS, monitored)


def rows(twin: Endpoint, pattern: str) -> list[list[Any]]:
    return twin.select(f"{NAMES} SELECT DISTINCT ?x {{ {pattern} }}").values()


@pytest.mark.parametrize(
    ("above", "class_"),
    [
        ("sosa:Platform", "st:ComputeNode"),
        ("sosa:FeatureOfInterest", "st:HardwareThread"),
        ("st:Interface", "st:NumaDomain"),
        ("st:Telemetry", "st:SWTelemetry"),
        ("prov:Activity", "st:Probe"),
        ("prov:Plan", "st:SamplingPlan"),
        ("sosa:ObservableProperty", "st:Metric"),
    ],
)
def test_superclasses_answer(store: TwinStores, above: str, class_: str) -> None:
    publish(described(1), store, IRIS)
    members = rows(store.twin, f"?x a {class_}")
    assert members
    assert rows(store.twin, f"?x a {class_}, {above}") == members


def test_host_is_one_step_from_all_that_belongs_to_it(store: TwinStores) -> None:
    publish(described(1), store, IRIS)
    publish(described(1, "n2"), store, IRIS)
    node = IRIS.host(HOST)
    own = f'?x a ?class FILTER (STRSTARTS(STR(?x), "{node}/"))'
    parts = {x for (x,) in rows(store.twin, own)}
    assert {x for (x,) in rows(store.twin, f"?x st:ofHost <{node}>")} == parts
    assert len(rows(store.twin, f"?x st:isPartOf+ <{node}>")) < len(parts)


def test_every_replacement_replaces_what_follows(store: TwinStores) -> None:
    publish(described(1), store, IRIS)
    first = assert_following(store.twin, IRIS)
    assert {IRIS.entailed_graph(OWN), IRIS.entailed_graph(PLANS)} <= first
    publish(described(2, os={"kernel": "6.2"}), store, IRIS)
    assert_following(store.twin, IRIS)
    assert not publish(described(3, os={"kernel": "6.2"}), store, IRIS).changed
    assert_following(store.twin, IRIS)
    disks = [{"name": f"sd{letter}", "size": 1} for letter in "abcdef"]
    publish(described(4, disks=disks), store, IRIS)
    assert_following(store.twin, IRIS)
    publish(describe_json(document({}, HOST), IRIS), store, IRIS, confirm=True)
    assert IRIS.entailed_graph(PLANS) not in assert_following(store.twin, IRIS)


def test_removed_host_leaves_nothing_that_follows(store: TwinStores) -> None:
    publish(described(1), store, IRIS)
    store.twin.update(registration_delete(IRIS, HOST))
    assert assert_following(store.twin, IRIS) == {
        IRIS.entailed_graph(IRIS.metrics_graph)
    }


def test_catalogues_have_what_follows(store: TwinStores) -> None:
    masks = [{"name": "ANY", "code": "0x1", "encoding": ["0x1"], "description": ""}]
    event = {
        "name": "INST_RETIRED",
        "code": "0x1",
        "encoding": ["0x1"],
        "umasks": masks,
    }
    model = {"name": "skx", "type": "core", "event_count": 1, "events": [event]}
    for _ in range(2):
        publish_models(store.twin, IRIS, [ProbedPmu.model_validate(model)])
    publish_roles(store.twin, IRIS)
    assert assert_following(store.twin, IRIS) == {
        IRIS.entailed_graph(IRIS.pmu_graph("skx")),
        IRIS.entailed_graph(IRIS.roles_graph),
    }


def test_named_process_has_what_follows(store: TwinStores) -> None:
    publish(described(1), store, IRIS)
    named = NamedProcess("tests", "python", "command")
    name_process(store.twin, IRIS, HOST, named)
    name_process(store.twin, IRIS, HOST, NamedProcess("other", "x", "name"))
    (bound,) = rebind(store.twin, IRIS, HOST, [named], datetime.now(UTC))
    assert bound.bound
    graph = IRIS.entailed_graph(IRIS.processes_graph(HOST))
    assert graph in assert_following(store.twin, IRIS)
    for name in ("tests", "other"):
        assert forget_process(store.twin, IRIS, HOST, name)
    assert graph not in assert_following(store.twin, IRIS)


def test_store_of_an_earlier_version_gets_what_follows(store: TwinStores) -> None:
    publish_roles(store.twin, IRIS)
    publish(described(1), store, IRIS)
    graphs = assert_following(store.twin, IRIS)
    stale = f"<{IRIS.host(HOST)}> a <urn:of-an-earlier-ontology>"
    drops = " ;\n".join(f"DROP GRAPH <{graph}>" for graph in graphs)
    twin = IRIS.entailed_graph(OWN)
    store.twin.update(f"{drops} ; INSERT DATA {{ GRAPH <{twin}> {{ {stale} }} }}")
    publish_ontology(store.twin, IRIS)
    assert assert_following(store.twin, IRIS) == graphs


def test_replacement_repairs_a_store_of_an_earlier_version(store: TwinStores) -> None:
    publish(described(1), store, IRIS)
    store.twin.update(f"DROP GRAPH <{IRIS.entailed_graph(URIRef(OWN))}>")
    publish(described(2, os={"kernel": "6.2"}), store, IRIS)
    assert_following(store.twin, IRIS)
