"""A span of a series is deleted, and nothing else, whatever happens."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from core.errors import ExternalStoreError, SeriesError
from core.settings.settings import Settings
from core.stores import span_deletion
from core.stores.errors import DeletionError, DeletionKeyError
from core.stores.span_deletion import delete_span, finish_deletions
from sampler_bridge.sending.outbox import Outbox
from sampler_bridge.sending.store import StoreConnection
from sampler_bridge.sending.writer import Writer
from sampling.account.cost import Latency
from tests.own_store import OwnStore
from tests.sampler_bridge.wire import rows_of
from tests.servers import wait_until

# Whole minutes, forty days ago: in another partition of the store than the present.
START = (int(time.time()) // 60 - 40 * 24 * 60) * 60_000
STEP = 1000
COUNT = 5000

Values = dict[int, float]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    with OwnStore(tmp_path_factory.mktemp("store")) as store:
        yield store


def match(name: str) -> str:
    return f'{name}{{hostname="n1",instname=""}}'


def written(store: OwnStore, name: str, instance: str = "", step: int = STEP) -> Values:
    """Write samples around `START`, and a few new ones; return them."""
    now = int(time.time() * 1000) - 5000
    times = [*(START + step * n for n in range(COUNT)), *range(now - 10, now)]
    values = {at: n / 4 for n, at in enumerate(times)}
    found = {"__name__": name, "hostname": "n1"} | (
        {"instname": instance} if instance else {}
    )
    line = {"metric": found, "values": [*values.values()], "timestamps": times}
    url = f"{store.url}/api/v1/import"
    httpx.post(url, content=json.dumps(line), auth=store.account).raise_for_status()
    return values


def stored(store: OwnStore, match: str) -> Values:
    auth = store.account
    httpx.get(f"{store.url}/internal/force_flush", auth=auth).raise_for_status()
    form = {"match[]": match, "end": f"{time.time() + 60:.0f}"}
    answer = httpx.post(f"{store.url}/api/v1/export", data=form, auth=auth)
    found: Values = {}
    for line in map(json.loads, answer.raise_for_status().text.splitlines()):
        found |= dict(zip(line["timestamps"], line["values"], strict=True))
    return found


def without(values: Values, start: int, end: int) -> Values:
    return {at: value for at, value in values.items() if not start < at <= end}


def test_only_the_span_is_deleted(store: OwnStore) -> None:
    values, others = written(store, "span"), written(store, "span", "cpu0")
    start, end = START + 10 * STEP, START + 2000 * STEP
    assert delete_span(store.settings, match("span"), start, end) == 1990
    assert stored(store, match("span")) == without(values, start, end)
    assert stored(store, 'span{instname="cpu0"}') == others
    assert not [*(store.settings.home / "deletions").iterdir()]


@pytest.mark.parametrize(
    ("start", "end"), [(250, 1760), (999, 1000), (1000, 1001), (0, 1), (1500, 4990)]
)
def test_span_has_milliseconds(store: OwnStore, start: int, end: int) -> None:
    name = f"ms_{start}_{end}"
    values = written(store, name, step=1)
    deleted = delete_span(store.settings, match(name), START + start, START + end)
    assert deleted == end - start
    assert stored(store, match(name)) == without(values, START + start, START + end)


def test_span_can_be_written_again(store: OwnStore) -> None:
    values = written(store, "again")
    assert delete_span(store.settings, match("again"), 0, START + COUNT * STEP)
    values |= written(store, "again")
    assert stored(store, match("again")) == values


def test_whole_series_can_be_deleted(store: OwnStore) -> None:
    values = written(store, "whole")
    end = int(time.time() * 1000)
    assert delete_span(store.settings, match("whole"), 0, end) == len(values)
    assert stored(store, match("whole")) == {}


def test_span_without_samples_changes_nothing(store: OwnStore) -> None:
    values = written(store, "empty")
    assert delete_span(store.settings, match("empty"), START - 5, START - 1) == 0
    assert delete_span(store.settings, match("no_such"), 0, START) == 0
    assert stored(store, match("empty")) == values


def test_texts_of_a_text_metric_are_deleted_together(store: OwnStore) -> None:
    lines = "".join(
        f'release{{hostname="n1",value="6.{n // 10}"}} 1 {START + n * STEP}\n'
        for n in range(30)
    )
    url = f"{store.url}/api/v1/import/prometheus"
    httpx.post(url, content=lines, auth=store.account).raise_for_status()
    start, end = START + 4 * STEP, START + 14 * STEP
    assert delete_span(store.settings, match("release"), start, end) == 10
    found = [len(stored(store, f'release{{value="6.{n}"}}')) for n in range(3)]
    assert found == [5, 5, 10]


def test_samples_that_the_bridge_sends_meanwhile_are_stored(
    store: OwnStore, tmp_path: Path
) -> None:
    """The writer of the bridge writes all the time, a series with old samples."""
    values = written(store, "busy")
    state = store.settings.home / "bridge"
    connection = StoreConnection(store.url, store.account, state)
    writer = Writer(connection, Latency())
    writer.start()
    try:
        box = Outbox(tmp_path, 10**9, writer.notify)
        writer.add(box)
        first = int(time.time() * 1000) - 4000
        for n in range(10):
            for tick in range(100):
                at = first + 100 * n + tick
                box.log.append(at, rows_of("busy", float(at)))
                values[at] = float(at)
            start, end = START + n * STEP, START + (n + 1) * STEP
            assert delete_span(store.settings, match("busy"), start, end) == 1
            values = without(values, start, end)
        wait_until(lambda: not box.has_more)
        assert box.account.figures()["written"] == 1000
    finally:
        writer.stop(5.0)
    assert stored(store, match("busy")) == values


def test_crash_after_the_deletion_loses_nothing(store: OwnStore) -> None:
    values = written(store, "crash")
    assert stored(store, match("crash")) == values
    settings, start, end = store.settings, START, START + 100 * STEP
    with span_deletion._client(settings) as client:
        kept = span_deletion._export(settings, client, match("crash"), start, end)
        span_deletion._delete(settings, client, match("crash"), kept)
    assert stored(store, match("crash")) == {}
    assert finish_deletions(settings)
    assert stored(store, match("crash")) == without(values, start, end)
    assert not finish_deletions(settings)


def test_draft_of_a_crash_is_removed(store: OwnStore) -> None:
    draft = store.settings.home / "deletions" / "crashed.partial"
    draft.write_bytes(b"half a li")
    assert not finish_deletions(store.settings)
    assert not draft.exists()


def test_deletion_that_cannot_write_back_is_completed_later(store: OwnStore) -> None:
    values = written(store, "later")
    start, end = START, START + 100 * STEP
    key = store.settings.home / "store" / "snapshot-key"
    right = key.read_text()
    key.write_text("wrong\n")
    try:
        with pytest.raises(DeletionError, match="the span is deleted"):
            delete_span(store.settings, match("later"), start, end)
    finally:
        key.write_text(right)
    assert finish_deletions(store.settings)
    assert stored(store, match("later")) == without(values, start, end)


def test_crash_before_the_deletion_deletes_nothing(store: OwnStore) -> None:
    values = written(store, "before")
    settings, start, end = store.settings, START, START + 100 * STEP
    with span_deletion._client(settings) as client:
        kept = span_deletion._export(settings, client, match("before"), start, end)
    kept.with_suffix(".partial").write_bytes(b"half a li")
    # The next deletion writes back what is left.
    written(store, "other")
    delete_span(settings, match("other"), START, START + STEP)
    assert stored(store, match("before")) == values
    assert not [*kept.parent.iterdir()]


def test_killed_store_loses_nothing_that_was_written_back(tmp_path: Path) -> None:
    with OwnStore(tmp_path) as store:
        values = written(store, "killed")
        start, end = START, START + 100 * STEP
        assert delete_span(store.settings, match("killed"), start, end) == 100
        store.end(signal.SIGKILL)
        store.start()
        assert stored(store, match("killed")) == without(values, start, end)


def test_refused_key_changes_nothing(store: OwnStore) -> None:
    values = written(store, "refused")
    key = store.settings.home / "store" / "delete-key"
    right = key.read_text()
    key.write_text("wrong\n")
    try:
        with pytest.raises(DeletionKeyError):
            delete_span(store.settings, match("refused"), START, START + STEP)
    finally:
        key.write_text(right)
    assert stored(store, match("refused")) == values
    assert not finish_deletions(store.settings)


def test_store_elsewhere_is_left_alone(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, store_write_url="http://127.0.0.1:9")
    with pytest.raises(ExternalStoreError):
        delete_span(settings, match("any"), 0, START)


def test_store_that_is_away_is_an_error(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, store_port=9)
    with pytest.raises(SeriesError):
        delete_span(settings, match("any"), 0, START)
