"""A log that fills its disk continues once the store has taken its records."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sampler_bridge.errors import NotLoggedError
from sampler_bridge.log.batch import START, Position
from sampler_bridge.log.log import Log
from sampler_bridge.sending.outbox import Outbox
from tests.disk import fill, small_disk
from tests.sampler_bridge.servers import BridgeProcess
from tests.sampler_bridge.wire import rows_of
from tests.servers import Pmcd, VictoriaMetrics

NewBridge = Callable[..., BridgeProcess]

LARGE = 10**9
KIB = 1024


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 512) as folder:
        yield folder


def append(log: Log, tick: int) -> int:
    """Append one point, of a series that has several kilobytes of labels."""
    return log.append(tick, rows_of(f"{tick:04000}", tick))


def fill_up(log: Log) -> int:
    """Append until nothing fits any more; return how many points did."""
    for tick in range(1000):
        try:
            assert append(log, tick) == 0
        except NotLoggedError:
            return tick
    raise AssertionError("it does not get full")


def send(box: Outbox, max_bytes: int = LARGE) -> None:
    """Send everything in the log."""
    while box.has_more:
        batch = box.read(max_bytes)
        assert batch is not None
        box.settle(batch, 0, None)


def take(log: Log, position: Position, max_bytes: int) -> tuple[Position, list[int]]:
    """Take one batch; return its end and its ticks."""
    batch = log.read(position, max_bytes)
    taken = log.take(batch)
    assert taken == (len(batch.entries), 0, 0, 0)
    return batch.end, [entry.tick_ms for entry in batch.entries]


def test_acknowledged_segments_make_room_for_new_ones(disk: Path) -> None:
    log = Log(disk / "log", LARGE, segment_bytes=32 * KIB)
    full = fill_up(log)
    first, second, *_ = sorted((disk / "log").iterdir())
    position, ticks = START, list[int]()
    while len(ticks) < full // 2:
        position, more = take(log, position, 1)
        ticks += more
    assert append(log, full) == 0
    assert log.failure is None
    assert second.exists() and not first.exists()
    beyond = full + 1 + fill_up(log)  # points that were not taken yet stay
    while log.has_more(position):
        position, more = take(log, position, LARGE)
        ticks += more
    assert ticks == [*range(full + 1), *range(beyond - full - 1)]
    assert log.waiting == 0
    log.close()


def test_acknowledged_single_file_log_continues(disk: Path) -> None:
    box = Outbox(disk / "n1", LARGE, lambda: None)
    number = fill_up(box.log)
    with pytest.raises(NotLoggedError):
        append(box.log, number)
    send(box)
    for tick in range(number):
        append(box.log, tick)
        send(box)
    assert box.account.figures()["written"] == 2 * number
    assert box.reason is None
    box.log.close()


def test_points_sent_from_a_full_disk_are_not_sent_again(disk: Path) -> None:
    """Acknowledged points are kept in blocks of their own, as after kill -9."""
    box = Outbox(disk / "n1", LARGE, lambda: None)
    fill_up(box.log)
    fill(disk)
    send(box, 8 * KIB)
    again = Outbox(disk / "n1", LARGE, lambda: None)
    assert again.log.waiting == 0 and not again.has_more
    for one in (box, again):
        one.log.close()


def test_sent_points_are_deleted_even_if_the_cursor_cannot_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A folder in place of the cursor simulates a disk that cannot save it."""
    monkeypatch.setattr("sampler_bridge.sending.cursor.SEND_AGAIN_SECONDS", 0.0)
    box = Outbox(tmp_path, 64 * KIB, lambda: None)
    (tmp_path / "cursor.json").unlink(missing_ok=True)
    (tmp_path / "cursor.json").mkdir()
    for tick in range(10):
        append(box.log, tick)
    send(box)
    time.sleep(2.1)
    append(box.log, 10)
    send(box)
    append(box.log, 11)
    send(box)
    assert "cursor.json cannot be written: Is a directory" in caplog.text
    assert len(list((tmp_path / "log").iterdir())) <= 2
    box.log.close()


def test_bridge_with_a_full_disk_continues_when_the_store_returns(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", 2 * KIB) as folder:
        bridge = new_bridge(pmcd.address, store.url, state=str(folder))
        bridge.state = folder
        store.end(9)
        bridge.sample(["kernel.all.pswitch", "sample.milliseconds"], 0.02)
        bridge.wait_for(lambda status: status["queue"]["points"] > 50)
        fill(folder, 20 * KIB)
        bridge.wait_for(lambda status: status["reasons"]["log not written"] > 20)
        store.start()
        bridge.wait_for(lambda status: status["written"] > 50)
        first = bridge.status()
        bridge.wait_for(lambda s: s["written"] > first["written"] + 200)
        bridge.wait_for(lambda status: status["queue"]["reason"] is None)
        assert bridge.end() == 0
        first = bridge.status()
        bridge.start()
        bridge.wait_for(lambda status: status["written"] > 100)
        assert bridge.end() == 0
        last = bridge.status()
    assert first["queue"]["points"] == last["carried"] == 0
    stored = sum(len(points) for points in store.values().values())
    assert first["written"] + last["written"] == stored
