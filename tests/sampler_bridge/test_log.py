"""The log returns what was written, whatever happens to its files."""

import resource
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler_bridge.errors import NotLoggedError, StateError
from sampler_bridge.log.batch import START, Batch, BatchOutcome, LoggedRecord, Position
from sampler_bridge.log.log import Log
from sampler_bridge.log.record import HEADER_BYTES
from sampler_bridge.log.rows import LogRows

Record = tuple[dict[bytes, float], bool]
Entry = tuple[int, dict[bytes, float]]

VALUES = st.dictionaries(
    st.binary(max_size=3), st.floats(allow_nan=False, allow_infinity=False), min_size=1
)
RECORDS = st.lists(st.tuples(VALUES, st.booleans()), max_size=25)
SMALL = 300  # bytes of a segment, so that a few records fill several


def rows(values: dict[bytes, float]) -> list[LogRows]:
    """Values of series in two columns, with an absent value between them."""
    heads, numbers = list(values), np.array(list(values.values()), np.float64)
    half = len(heads) // 2
    lacking = LogRows([b"lacking"], np.array([np.nan]))
    return [
        LogRows(heads[:half], numbers[:half]),
        lacking,
        LogRows(heads[half:], numbers[half:]),
    ]


def one(at: int, points: int = 1) -> list[LogRows]:
    """The given number of values, of series that occur in no other record."""
    return rows({b"%030d.%d" % (at, number): at for number in range(points)})


def fill(log: Log, records: list[Record]) -> None:
    for tick, (values, packed) in enumerate(records):
        assert log.append(tick, rows(values), packed) == 0


def drain(log: Log, position: Position = START) -> list[Entry]:
    """All ticks and their values from a position on; this takes them off the queue."""
    found = []
    while log.has_more(position):
        batch = log.read(position, 100)
        assert batch.end > position
        found += [entry_of(entry, batch) for entry in batch.entries]
        log.take(batch)
        position = batch.end
    return found


def entry_of(entry: LoggedRecord, batch: Batch) -> Entry:
    places, values = entry.rows
    heads = [batch.heads[place] for place in places.tolist()]
    assert entry.points == len(heads)
    return entry.tick_ms, dict(zip(heads, values.tolist(), strict=True))


def points(found: list[Entry]) -> int:
    return sum(len(values) for _, values in found)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def whole(records: list[Record]) -> list[Entry]:
    return [(tick, values) for tick, (values, _) in enumerate(records)]


@given(RECORDS)
def test_records_are_read_in_order(records: list[Record]) -> None:
    with folder() as path:
        log = Log(path, 10**6, segment_bytes=SMALL)
        fill(log, records)
        assert log.waiting == points(whole(records))
        assert log.oldest_ms == (0 if records else None)
        assert drain(log) == whole(records)
        assert (log.waiting, log.oldest_ms) == (0, None)
        log.close()


@given(RECORDS, st.data())
def test_segment_can_be_read_from_any_record(
    records: list[Record], data: st.DataObject
) -> None:
    """Earlier records name the series; another process can still start anywhere."""
    with folder() as path:
        log = Log(path, 10**6)
        fill(log, records)
        batch = log.read(START, 10**6)
        log.close()
        starts = [entry.start for entry in batch.entries]
        for at in (
            data.draw(st.lists(st.sampled_from(range(len(starts))))) if starts else []
        ):
            again = Log(path, 10**6, taken=starts[at])
            assert drain(again, starts[at]) == whole(records)[at:]
            assert drain(again) == whole(records)
            again.close()


@given(RECORDS, st.data())
def test_truncation_loses_only_the_cut_records(
    records: list[Record], data: st.DataObject
) -> None:
    """As after kill -9: the file ends anywhere, and the log opens and continues."""
    with folder() as path:
        log = Log(path, 10**6)
        fill(log, records)
        log.close()
        files = sorted(path.iterdir())
        if files:
            content = files[-1].read_bytes()
            cut = data.draw(st.integers(0, len(content)))
            files[-1].write_bytes(content[:cut])
        again = Log(path, 10**6)
        assert again.damaged == 0
        again.append(99, rows({b"after": 5}))
        found = drain(again)
        assert found[-1] == (99, {b"after": 5})
        assert found[:-1] == whole(records)[: len(found) - 1]
        assert again.waiting == 0
        again.close()


@given(RECORDS.filter(len), st.data())
def test_changed_byte_loses_one_record_and_its_new_series(
    records: list[Record], data: st.DataObject
) -> None:
    with folder() as path:
        log = Log(path, 10**6, segment_bytes=SMALL)
        fill(log, records)
        log.close()
        file = data.draw(st.sampled_from(sorted(path.iterdir())))
        content = bytearray(file.read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] ^= data.draw(st.integers(1, 255))
        file.write_bytes(content)
        again = Log(path, 10**6)
        found = dict(drain(again))
        (missed,) = {tick for tick, _ in whole(records)} - found.keys()
        for tick, values in found.items():
            lost = records[tick][0].keys() - values.keys()
            assert values.items() <= records[tick][0].items()
            assert tick > missed or not lost
            assert lost <= records[missed][0].keys()
        assert again.waiting == 0
        again.close()


def test_damage_is_counted_and_its_points_are_lost(tmp_path: Path) -> None:
    log = Log(tmp_path, 10**6)
    for tick, number in enumerate((3, 4, 5)):
        log.append(tick, one(tick, number))
    second = log.read(START, 1).end.offset
    log.close()
    (file,) = tmp_path.iterdir()
    content = bytearray(file.read_bytes())
    content[second + HEADER_BYTES] ^= 1
    file.write_bytes(content)
    again = Log(tmp_path, 10**6)
    batch = again.read(START, 1000)
    assert batch.unreadable == 1
    assert again.take(batch) == BatchOutcome(8, 0, 4)
    assert again.waiting == 0
    again.close()


def test_queue_starts_at_the_cursor(tmp_path: Path) -> None:
    log = Log(tmp_path, 10**6, segment_bytes=SMALL)
    fill(log, [({b"x" * 50: 1}, False)] * 20)
    position = START
    for _ in range(3):
        batch = log.read(position, 100)
        log.take(batch)
        position = batch.end
    left = log.waiting
    log.close()
    again = Log(tmp_path, 10**6, taken=position)
    assert again.waiting == left < 20
    assert len(drain(again, position)) == left
    again.close()


def test_acknowledged_records_can_be_read_again_and_count_once(tmp_path: Path) -> None:
    log = Log(tmp_path, 10**6)
    log.append(1, one(1, 2))
    log.append(2, one(2, 3))
    batch = log.read(START, 1000)
    assert log.take(batch) == BatchOutcome(5, 0, 0)
    assert log.take(log.read(START, 1000)) == BatchOutcome(0, 5, 0)
    log.append(9, one(9, 7))
    assert log.take(log.read(START, 1000)) == BatchOutcome(7, 5, 0)
    log.close()


def test_full_log_drops_the_oldest_and_counts_them(tmp_path: Path) -> None:
    log = Log(tmp_path, 1000)
    dropped = sum(log.append(tick, one(tick)) for tick in range(100))
    found = drain(log)
    assert log.size_bytes <= 1000
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 1000
    assert len(found) == 100 - dropped >= 8
    assert [tick for tick, _ in found] == list(range(dropped, 100))
    log.close()


def test_dropping_acknowledged_records_is_not_a_loss(tmp_path: Path) -> None:
    log = Log(tmp_path, 1000)
    position = START
    for tick in range(100):
        assert log.append(tick, one(tick)) == 0
        batch = log.read(position, 1000)
        log.take(batch)
        position = batch.end
    log.close()


def test_points_dropped_in_flight_are_counted_separately(tmp_path: Path) -> None:
    log = Log(tmp_path, 1000)
    log.append(0, one(0))
    under_way = log.read(START, 1000)
    dropped = sum(log.append(tick, one(tick)) for tick in range(1, 100))
    assert dropped > 1
    assert log.take(under_way) == BatchOutcome(0, 0, 0, gone=1)
    assert log.waiting == 100 - dropped
    log.close()


def test_record_larger_than_the_log_is_dropped(tmp_path: Path) -> None:
    log = Log(tmp_path, 1000)
    log.append(0, rows({b"kept": 1}))
    assert log.append(1, rows({b"x" * 400 + b"%d" % at: at for at in range(6)})) == 6
    assert drain(log) == [(0, {b"kept": 1})]
    log.close()


def test_forget_deletes_processed_segments(tmp_path: Path) -> None:
    log = Log(tmp_path, 10**6, segment_bytes=SMALL)
    fill(log, [({b"x" * 50: 1}, False)] * 20)
    log.forget(Position(10**9, 0))
    assert log.waiting == 20
    drain(log)
    before = len(list(tmp_path.iterdir()))
    log.forget(Position(3, 0))
    assert len(list(tmp_path.iterdir())) == before - 2
    log.forget(Position(10**9, 0))
    assert len(list(tmp_path.iterdir())) == 1
    log.close()


def test_packing_lets_a_log_hold_more(tmp_path: Path) -> None:
    log = Log(tmp_path, 10**6)
    values = {b"kernel_all_load, or so, of instance %d" % at: 0.5 for at in range(100)}
    log.append(0, rows(values), packed=True)
    assert log.size_bytes < 12 * 100
    log.append(1, rows(values), packed=True)
    assert drain(log) == [(0, values), (1, values)]
    log.close()


def test_full_disk_loses_only_that_record(tmp_path: Path) -> None:
    """A limit on the file size simulates the full disk."""
    log = Log(tmp_path, 10**6)
    log.append(0, rows({b"x" * 100: 1}))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))
    try:
        with pytest.raises(NotLoggedError, match="too large"):
            log.append(1, rows({b"y" * 100: 2, b"x" * 100: 1}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    log.append(2, rows({b"y" * 100: 3}))
    assert drain(log) == [(0, {b"x" * 100: 1}), (2, {b"y" * 100: 3})]
    log.close()
    assert Log(tmp_path, 10**6).damaged == 0


def test_readers_are_notified_of_new_records(tmp_path: Path) -> None:
    notified = threading.Event()
    log = Log(tmp_path, 10**6, notify=notified.set)
    assert not log.has_more(START)
    log.append(0, one(0))
    assert notified.is_set() and log.has_more(START)
    assert not log.has_more(log.read(START, 100).end)
    log.close()


def test_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("")
    with pytest.raises(StateError, match="give another --state"):
        Log(tmp_path / "log", 1000)
