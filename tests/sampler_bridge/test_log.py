"""The log: what went in comes out, whatever happens to its files."""

import resource
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler_bridge.errors import StateError
from sampler_bridge.log.batch import START, Position, Taken
from sampler_bridge.log.log import Log
from sampler_bridge.log.record import HEADER_BYTES

RECORDS = st.lists(
    st.tuples(st.integers(1, 9), st.binary(max_size=60), st.booleans()), max_size=25
)
SMALL = 300  # bytes of a segment, so that a few records make several


def fill(log: Log, records: list[tuple[int, bytes, bool]]) -> None:
    for tick, (points, payload, packed) in enumerate(records):
        assert log.append(tick, points, payload, packed) == 0


def drain(log: Log, position: Position = START) -> list[tuple[int, bytes]]:
    """All points and payloads from a position on; they leave the queue."""
    found = []
    while log.has_more(position):
        batch = log.read(position, 100)
        assert batch.end > position
        found += [(entry.points, entry.payload) for entry in batch.entries]
        log.take(batch)
        position = batch.end
    return found


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@given(RECORDS)
def test_what_went_in_comes_out_in_order(
    records: list[tuple[int, bytes, bool]],
) -> None:
    with folder() as path:
        log = Log(path, 10**6, segment_bytes=SMALL)
        fill(log, records)
        assert log.waiting == sum(points for points, _, _ in records)
        assert drain(log) == [(points, payload) for points, payload, _ in records]
        assert log.waiting == 0
        log.close()


@given(RECORDS, st.data())
def test_a_cut_costs_no_more_than_what_was_cut(
    records: list[tuple[int, bytes, bool]], data: st.DataObject
) -> None:
    """As after kill -9: the file ends anywhere, the log opens and goes on."""
    with folder() as path:
        log = Log(path, 10**6)
        fill(log, records)
        log.close()
        files = sorted(path.iterdir())
        if files:
            content = files[-1].read_bytes()
            cut = data.draw(st.integers(0, len(content)))
            files[-1].write_bytes(content[:cut])
        whole = [(points, payload) for points, payload, _ in records]
        again = Log(path, 10**6)
        assert again.damaged == 0
        again.append(99, 5, b"after")
        found = drain(again)
        assert found[-1] == (5, b"after")
        assert found[:-1] == whole[: len(found) - 1]
        assert again.waiting == 0
        again.close()


@given(RECORDS.filter(len), st.data())
def test_a_changed_byte_costs_one_record(
    records: list[tuple[int, bytes, bool]], data: st.DataObject
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
        found = drain(again)
        whole = [(points, payload) for points, payload, _ in records]
        assert len(found) == len(whole) - 1
        missed = next(
            (at for at, one in enumerate(found) if one != whole[at]), len(found)
        )
        assert found == whole[:missed] + whole[missed + 1 :]
        assert again.waiting == 0
        again.close()


def test_damage_is_counted_and_its_points_are_lost(tmp_path: Path) -> None:
    log = Log(tmp_path, 10**6)
    fill(log, [(3, b"one", False), (4, b"two", False), (5, b"three", False)])
    log.close()
    (file,) = tmp_path.iterdir()
    content = bytearray(file.read_bytes())
    content[HEADER_BYTES + 3 + HEADER_BYTES] ^= 1
    file.write_bytes(content)
    again = Log(tmp_path, 10**6)
    batch = again.read(START, 1000)
    assert batch.unreadable == 1
    assert again.take(batch) == Taken(8, 0, 4)
    assert again.waiting == 0
    again.close()


def test_the_queue_starts_where_the_cursor_says(tmp_path: Path) -> None:
    log = Log(tmp_path, 10**6, segment_bytes=SMALL)
    fill(log, [(1, b"x" * 50, False)] * 20)
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


def test_what_was_taken_can_be_read_again_and_counts_once(tmp_path: Path) -> None:
    log = Log(tmp_path, 10**6)
    fill(log, [(2, b"a", False), (3, b"b", False)])
    batch = log.read(START, 1000)
    assert log.take(batch) == Taken(5, 0, 0)
    assert log.take(log.read(START, 1000)) == Taken(0, 5, 0)
    log.append(9, 7, b"c")
    assert log.take(log.read(START, 1000)) == Taken(7, 5, 0)
    log.close()


def test_a_full_log_drops_the_oldest_and_counts(tmp_path: Path) -> None:
    log = Log(tmp_path, 1000)
    dropped = sum(log.append(tick, 1, b"%030d" % tick) for tick in range(100))
    found = drain(log)
    assert log.size_bytes <= 1000
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 1000
    assert len(found) == 100 - dropped >= 10
    assert found == [(1, b"%030d" % tick) for tick in range(dropped, 100)]
    log.close()


def test_dropping_what_was_taken_is_no_loss(tmp_path: Path) -> None:
    log = Log(tmp_path, 1000)
    position = START
    for tick in range(100):
        assert log.append(tick, 1, b"%030d" % tick) == 0
        batch = log.read(position, 1000)
        log.take(batch)
        position = batch.end
    log.close()


def test_points_dropped_on_their_way_are_told_apart(tmp_path: Path) -> None:
    log = Log(tmp_path, 1000)
    log.append(0, 1, b"first")
    under_way = log.read(START, 1000)
    dropped = sum(log.append(tick, 1, b"%030d" % tick) for tick in range(1, 100))
    assert dropped > 1
    assert log.take(under_way) == Taken(0, 0, 0, gone=1)
    assert log.waiting == 100 - dropped
    log.close()


def test_a_record_larger_than_the_log_is_dropped_itself(tmp_path: Path) -> None:
    log = Log(tmp_path, 1000)
    log.append(0, 1, b"kept")
    assert log.append(1, 6, b"x" * 2000) == 6
    assert drain(log) == [(1, b"kept")]
    log.close()


def test_forget_deletes_what_is_dealt_with(tmp_path: Path) -> None:
    log = Log(tmp_path, 10**6, segment_bytes=SMALL)
    fill(log, [(1, b"x" * 50, False)] * 20)
    log.forget(Position(10**9, 0))
    assert log.waiting == 20
    drain(log)
    before = len(list(tmp_path.iterdir()))
    log.forget(Position(3, 0))
    assert len(list(tmp_path.iterdir())) == before - 2
    log.forget(Position(10**9, 0))
    assert len(list(tmp_path.iterdir())) == 1
    log.close()


def test_packing_makes_a_log_hold_more(tmp_path: Path) -> None:
    log = Log(tmp_path, 10**6)
    payload = b'kernel_all_load{hostname="n1"} 0.5 1700000000000\n' * 100
    log.append(0, 100, payload, packed=True)
    assert log.size_bytes < len(payload) / 5
    assert drain(log) == [(100, payload)]
    log.close()


def test_a_disk_that_takes_no_more_costs_that_record_alone(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the full disk."""
    log = Log(tmp_path, 10**6)
    log.append(0, 1, b"x" * 100)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            log.append(1, 1, b"y" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    log.append(2, 1, b"z" * 100)
    assert [payload[:1] for _, payload in drain(log)] == [b"x", b"z"]
    log.close()
    assert Log(tmp_path, 10**6).damaged == 0


def test_who_reads_is_told_when_there_is_more(tmp_path: Path) -> None:
    told = threading.Event()
    log = Log(tmp_path, 10**6, told=told.set)
    assert not log.has_more(START)
    log.append(0, 1, b"x")
    assert told.is_set() and log.has_more(START)
    assert not log.has_more(log.read(START, 100).end)
    log.close()


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("")
    with pytest.raises(StateError, match="give another --state"):
        Log(tmp_path / "log", 1000)
