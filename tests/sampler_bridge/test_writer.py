"""The sender against a real store: refusals, absence and restarts of the store."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from sampler_bridge.errors import StoreDownError
from sampler_bridge.log.batch import START
from sampler_bridge.log.log import Log
from sampler_bridge.log.rows import LogRows
from sampler_bridge.sending.cursor import Cursor, load_cursor
from sampler_bridge.sending.outbox import Outbox
from sampler_bridge.sending.remote_write import labels
from sampler_bridge.sending.store import Refusal, StoreConnection
from sampler_bridge.sending.writer import Writer
from sampling.account.account import REFUSED, Account
from sampling.account.cost import Latency
from tests.sampler_bridge.servers import NOWHERE
from tests.sampler_bridge.wire import rows_of
from tests.servers import VictoriaMetrics, wait_until

T0 = time.time_ns() // 1_000_000 - 60_000
# Labels that end too early: VictoriaMetrics refuses a request that contains them.
BROKEN = b"\x0a\x7f"


def row(tick: int, name: str = "a") -> tuple[int, list[LogRows]]:
    """A row whose value is different at each tick."""
    return T0 + tick, rows_of(name, tick)


def broken(points: int) -> list[LogRows]:
    heads = [BROKEN + bytes([at]) for at in range(points)]
    return [LogRows(heads, np.ones(points))]


@contextmanager
def sending(folder: Path, url: str) -> Iterator[tuple[Log, Account, Writer]]:
    """A log, its account and its running sender; the cursor stays in the folder."""
    with writing(StoreConnection(url)) as writer:
        box = Outbox(folder, 10**9, writer.notify)
        writer.add(box)
        yield box.log, box.account, writer
    box.log.close()


@contextmanager
def writing(store: StoreConnection) -> Iterator[Writer]:
    """A running sender without outboxes."""
    writer = Writer(store, Latency())
    writer.start()
    try:
        yield writer
    finally:
        writer.stop(5.0)


def test_waiting_records_are_sent_and_acknowledged(
    tmp_path: Path, store: VictoriaMetrics
) -> None:
    with sending(tmp_path, store.url) as (log, account, writer):
        for tick in range(5):
            log.append(*row(tick))
        wait_until(lambda: log.waiting == 0 and writer.state.last_ack_ms)
        assert writer.state.up
    assert store.values()["a"] == {T0 + tick: tick for tick in range(5)}
    assert account.figures()["written"] == 5
    assert load_cursor(tmp_path / "cursor.json").taken > Cursor().taken


def test_stop_sends_waiting_records(tmp_path: Path, store: VictoriaMetrics) -> None:
    with sending(tmp_path, store.url) as (log, _, writer):
        wait_until(lambda: writer.state.up)
        for tick in range(50):
            log.append(*row(tick))
    assert len(store.values()["a"]) == 50


class CountingStore(StoreConnection):
    """A store that counts the requests it receives."""

    requests = 0

    def write(self, request: bytes) -> Refusal | None:
        self.requests += bool(request)
        return super().write(request)


@pytest.mark.serial
def test_continuous_ticks_are_batched(tmp_path: Path, store: VictoriaMetrics) -> None:
    counting = CountingStore(store.url)
    with writing(counting) as writer:
        box = Outbox(tmp_path, 10**9, writer.notify)
        writer.add(box)
        began = time.monotonic()
        for tick in range(300):
            box.log.append(*row(tick))
            time.sleep(0.001)
        wait_until(lambda: box.log.waiting == 0)
        took = time.monotonic() - began
    assert len(store.values()["a"]) == 300
    # The sender waits at least 20 ms before each request.
    assert 1 <= counting.requests <= took / 0.02 + 1


def test_refused_record_affects_only_itself(
    tmp_path: Path, store: VictoriaMetrics
) -> None:
    log = Log(tmp_path / "log", 10**9)
    log.append(*row(1))
    log.append(T0 + 2, broken(7))
    log.append(*row(3))
    log.close()
    with sending(tmp_path, store.url) as (log, account, writer):
        wait_until(lambda: log.waiting == 0)
        figures = account.figures()
        assert writer.state.up
    assert store.values()["a"] == {T0 + 1: 1, T0 + 3: 3}
    assert figures["written"] == 2
    assert figures["missing"] == {"store refused": {REFUSED.detail: 7}}
    assert figures["expected"] == 9


def test_refused_record_affects_no_other_host(
    tmp_path: Path, store: VictoriaMetrics
) -> None:
    with writing(StoreConnection(store.url)) as writer:
        boxes = [Outbox(tmp_path / name, 10**9, writer.notify) for name in "abc"]
        for tick in range(1, 6):
            for name, box in zip("abc", boxes, strict=True):
                if name == "b" and tick == 3:
                    box.log.append(T0 + tick, broken(1))
                else:
                    box.log.append(*row(tick, name))
        for box in boxes:
            writer.add(box)
        wait_until(lambda: not any(box.log.waiting for box in boxes))
    assert [box.account.figures()["written"] for box in boxes] == [5, 4, 5]
    assert boxes[1].account.figures()["reasons"]["store refused"] == 1
    found = store.values()
    assert [sorted(found[name]) for name in "ac"] == [[T0 + n for n in range(1, 6)]] * 2
    assert sorted(found["b"]) == [T0 + n for n in (1, 2, 4, 5)]
    for box in boxes:
        box.log.close()


def test_too_large_tick_is_sent_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Next to another host's tick, and refused by a store if sent in one request."""
    monkeypatch.setattr("sampler_bridge.sending.writer._MOST_BYTES", 9_000)
    heads = [labels({"__name__": f"a{at}", "hostname": "n1"}) for at in range(1000)]
    boxes = [Outbox(tmp_path / name, 10**9, lambda: None) for name in "ab"]
    boxes[0].log.append(T0, [LogRows(heads, np.arange(1000.0))])
    boxes[1].log.append(*row(1, "b"))
    whole = boxes[0].request(boxes[0].log.read(START, 1))
    with VictoriaMetrics(tmp_path / "small", "-maxInsertRequestSize=10000") as store:
        client = StoreConnection(store.url)
        assert client.write(whole) is not None
        with writing(client) as writer:
            for box in boxes:
                writer.add(box)
            wait_until(lambda: not any(box.log.waiting for box in boxes))
        found = store.values()
    assert found.pop("b") == {T0 + 1: 1}
    assert found == {f"a{at}": {T0: at} for at in range(1000)}
    assert [box.account.figures()["written"] for box in boxes] == [1000, 1]
    for box in boxes:
        box.log.close()


def test_unreadable_log_delays_no_other(
    tmp_path: Path, store: VictoriaMetrics, caplog: pytest.LogCaptureFixture
) -> None:
    """A folder in place of a log file simulates a disk with bad blocks."""
    for name in "ab":
        before = Outbox(tmp_path / name, 10**9, lambda: None)
        before.log.append(*row(1, name))
        before.log.close()
    # Not the file being written: the log would write that again from memory.
    boxes = [Outbox(tmp_path / name, 10**9, lambda: None) for name in "ab"]
    (file,) = (tmp_path / "a/log").iterdir()
    aside = file.rename(tmp_path / "aside")
    file.mkdir()
    with writing(StoreConnection(store.url)) as writer:
        for box in boxes:
            writer.add(box)
        wait_until(lambda: boxes[1].log.waiting == 0)
        assert boxes[0].log.waiting == 1
        assert boxes[0].reason and f"{file} cannot be read (Is" in boxes[0].reason
        assert boxes[1].reason is None and writer.alive
        file.rmdir()
        aside.rename(file)
        wait_until(lambda: boxes[0].log.waiting == 0)
    assert boxes[0].reason is None
    assert caplog.text.count("cannot be read") == 1
    assert store.values() == {"a": {T0 + 1: 1}, "b": {T0 + 1: 1}}
    for box in boxes:
        box.log.close()


@pytest.mark.parametrize("path", ["", "/no/store/here"])
def test_unreachable_store_loses_nothing(
    tmp_path: Path, store: VictoriaMetrics, path: str
) -> None:
    with sending(tmp_path, (store.url if path else NOWHERE) + path) as (log, _, writer):
        log.append(*row(1))
        wait_until(lambda: writer.state.reason and "running" in writer.state.reason)
        assert not writer.state.up
    assert log.waiting == 1


def test_restarted_store_gets_the_last_minute_again(
    tmp_path: Path, store: VictoriaMetrics
) -> None:
    with sending(tmp_path, store.url) as (log, account, writer):
        for tick in range(20):
            log.append(*row(tick))
        wait_until(lambda: log.waiting == 0)
        store.end(9)
        log.append(*row(20))
        wait_until(lambda: not writer.state.up)
        store.start()
        wait_until(lambda: account.figures()["resent"] == 20)
        wait_until(lambda: log.waiting == 0)
    assert store.values()["a"] == {T0 + tick: tick for tick in range(21)}
    assert account.figures()["written"] == 21


def test_store_restart_between_two_ticks_is_noticed(
    tmp_path: Path, store: VictoriaMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request failed."""
    monkeypatch.setattr("sampler_bridge.sending.writer._CHECK_SECONDS", 0.2)
    with sending(tmp_path, store.url) as (log, account, writer):
        for tick in range(20):
            log.append(*row(tick))
        wait_until(lambda: log.waiting == 0)
        store.end(9)
        time.sleep(1)  # a store tells its runs apart by the second
        store.start()
        log.append(*row(20))
        # The new run may take the last row before it is known to be new.
        wait_until(lambda: account.figures()["resent"] >= 20)
        wait_until(lambda: log.waiting == 0)
        assert writer.state.up
    assert len(store.values()["a"]) == 21


def test_store_restart_without_a_bridge_is_noticed(
    tmp_path: Path, store: VictoriaMetrics
) -> None:
    with sending(tmp_path, store.url) as (log, _, _):
        for tick in range(20):
            log.append(*row(tick))
        wait_until(lambda: log.waiting == 0)
    store.end(9)
    time.sleep(1)  # a store tells its runs apart by the second
    store.start()
    with sending(tmp_path, store.url) as (log, account, _):
        wait_until(lambda: account.figures()["resent"] == 20)
        assert account.figures()["written"] == 0
    assert len(store.values()["a"]) == 20


def test_store_that_kept_running_gets_nothing_again(
    tmp_path: Path, store: VictoriaMetrics
) -> None:
    with sending(tmp_path, store.url) as (log, _, _):
        log.append(*row(1))
        wait_until(lambda: log.waiting == 0)
    with sending(tmp_path, store.url) as (log, account, _):
        log.append(*row(2))
        wait_until(lambda: log.waiting == 0)
        assert account.figures()["resent"] == 0


def test_store_reports_its_start_time(store: VictoriaMetrics) -> None:
    client = StoreConnection(store.url)
    first = client.run().started
    assert first
    assert client.run().started == first
    store.end(9)
    with pytest.raises(StoreDownError, match=store.url):
        client.run()
    client.close()
