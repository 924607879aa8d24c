"""Replacing a host in a real store."""

from collections.abc import Iterator
from typing import Any

import pytest

from core.stores.endpoint import Endpoint
from ingest.description import Description
from ingest.entailed import with_entailed
from ingest.load.fast_load import graphs_of
from ingest.load.publish import TwinStores, publish
from ingest.load.replace import read_current, replace
from ontology.terms import ST
from tests.ingest.documents import IRIS, PCP, describe_json, document
from tests.servers import Fuseki

HOST = "n1"


class RecordingStore(Endpoint):
    """A store that remembers its updates."""

    updates: list[str]

    def update(self, text: str) -> None:
        self.updates = [*getattr(self, "updates", []), text]
        super().update(text)


@pytest.fixture
def recording(fuseki: Fuseki, store: TwinStores) -> Iterator[RecordingStore]:
    with RecordingStore(f"{fuseki.url}/twin") as twin:
        yield twin


def described(day: int, **facts: Any) -> Description:
    stamp = f"2026-11-{day:02}T00:00:00Z"
    own = {"os": {"kernel": f"6.{day}"}, "pcp": PCP, **facts}
    stamps = {"started": stamp, "ended": stamp}
    monitored = [metric["name"] for metric in PCP["metrics"]]
    return describe_json(document(own, HOST) | stamps, IRIS, monitored)


def assert_stands(store: TwinStores, description: Description) -> None:
    graphs = with_entailed(graphs_of(description, IRIS), IRIS)
    for graph, triples in graphs.items():
        assert set(store.twin.get_graph(graph)) == set(triples)


def test_only_differences_are_written(
    store: TwinStores, recording: RecordingStore
) -> None:
    publish(described(1), store, IRIS)
    changed = described(2)
    publish(changed, TwinStores(recording, store.history), IRIS)
    (update,) = recording.updates
    assert "DROP" not in update
    assert '"6.1"' in update and '"6.2"' in update
    assert str(ST.osIndex) not in update and str(ST.period) not in update
    assert_stands(store, changed)


def test_plans_of_users_are_kept(store: TwinStores) -> None:
    publish(described(1), store, IRIS)
    plans = IRIS.plans_graph(HOST)
    other = f'<urn:plan> <{ST.planName}> "own"'
    store.twin.update(f"INSERT DATA {{ GRAPH <{plans}> {{ {other} }} }}")
    publish(described(2, pcp=None), store, IRIS)
    assert store.twin.ask(f"ASK {{ GRAPH <{plans}> {{ {other} }} }}")
    assert len(store.twin.get_graph(plans)) == 1


def test_another_machine_is_written_completely(
    store: TwinStores, recording: RecordingStore
) -> None:
    publish(described(1), store, IRIS)
    small = describe_json(document({}, HOST), IRIS)
    publish(small, TwinStores(recording, store.history), IRIS, confirm=True)
    assert any("DROP" in update for update in recording.updates)
    assert_stands(store, small)


@pytest.mark.parametrize("day", [2, 4])
def test_concurrent_replacement_is_detected(
    store: TwinStores, recording: RecordingStore, day: int
) -> None:
    publish(first := described(1), store, IRIS)
    standing = read_current(store.twin, IRIS, HOST, first.digest)
    publish(described(day), store, IRIS)
    last = described(3)
    replace(last, recording, IRIS, {}, "", standing)
    assert len(recording.updates) == 2
    assert_stands(store, last)


def test_truncated_read_is_detected(
    store: TwinStores, recording: RecordingStore
) -> None:
    publish(first := described(1), store, IRIS)
    whole = read_current(store.twin, IRIS, HOST, first.digest)
    lines = [line for line in whole.twin.splitlines(True) if b'"6.1"' not in line]
    own = IRIS.twin_graph(HOST)
    short = type(whole)(whole.digest, {**whole.graphs, own: b"".join(lines)})
    last = described(2)
    replace(last, recording, IRIS, {}, "", short)
    assert_stands(store, last)
