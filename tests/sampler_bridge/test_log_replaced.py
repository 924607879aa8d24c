"""A log whose file another process deletes, cuts or replaces during use."""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_bridge.errors import NotLoggedError
from sampler_bridge.log import live
from sampler_bridge.log.batch import START, Position
from sampler_bridge.log.log import Log
from sampler_bridge.log.rows import LogRows
from sampler_bridge.sampling.labelled import Labelled
from sampler_bridge.sampling.recorder import Recorder
from sampler_bridge.sending.outbox import Outbox
from tests.disk import fill, small_disk
from tests.limits import no_room_in_files
from tests.sampler_bridge.test_log import drain, folder, rows

Harm = Callable[[Path], None]

LARGE = 10**6


def newest(path: Path) -> Path:
    return max(path.glob("*.log"))


def delete(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    os.truncate(file, 0)


def cut(file: Path) -> None:
    os.truncate(file, max(file.stat().st_size - 50, 0))


def lengthen(file: Path) -> None:
    with file.open("ab") as opened:
        opened.write(b"not a record" * 100)


def replace(file: Path) -> None:
    copy = file.with_name("copy")
    copy.write_bytes(file.read_bytes())
    copy.replace(file)


def move_away(file: Path) -> None:
    file.rename(file.with_name("aside"))


def make_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def delete_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


HARMS = [delete, empty, cut, lengthen, replace, move_away, make_folder, delete_folder]


@pytest.fixture(params=HARMS, ids=lambda harm: harm.__name__)
def harm(request: pytest.FixtureRequest) -> Harm:
    found: Harm = request.param
    return found


def values(tick: int) -> dict[bytes, float]:
    """Values of two series: one that occurs at all ticks, one only at this one."""
    return {b"all": tick, b"only %d" % tick: 7.0}


def append(log: Log, *ticks: int) -> None:
    for tick in ticks:
        assert log.append(tick, rows(values(tick))) == 0


def all_of(*ticks: int) -> list[tuple[int, dict[bytes, float]]]:
    return [(tick, values(tick)) for tick in ticks]


def told_only(log: Log, position: Position = START) -> list[tuple[int, object]]:
    """Ticks with their values; omits records that only name series."""
    return [(tick, found) for tick, found in drain(log, position) if found]


def test_waiting_records_continue_in_a_new_file(
    tmp_path: Path, harm: Harm, caplog: pytest.LogCaptureFixture
) -> None:
    log = Log(tmp_path / "log", LARGE)
    append(log, 1, 2, 3)
    harm(newest(tmp_path / "log"))
    append(log, 4, 5)
    assert (log.replaced, log.waiting) == (1, 10)
    assert "by another process: its last 3 records go to a new file" in caplog.text
    assert log.oldest_ms == 1
    assert told_only(log) == all_of(1, 2, 3, 4, 5)
    assert log.waiting == 0
    log.close()


def test_reader_notices_a_replaced_file_before_the_next_record(
    tmp_path: Path, harm: Harm
) -> None:
    log = Log(tmp_path / "log", LARGE)
    append(log, 1, 2)
    harm(newest(tmp_path / "log"))
    assert told_only(log) == all_of(1, 2)
    assert (log.replaced, log.waiting) == (1, 0)
    log.close()


def test_partly_acknowledged_points_count_once(tmp_path: Path, harm: Harm) -> None:
    log = Log(tmp_path / "log", LARGE)
    append(log, 1, 2)
    first = log.read(START, LARGE)
    log.take(first)
    append(log, 3)
    harm(newest(tmp_path / "log"))
    append(log, 4)
    assert log.waiting == 4
    batch = log.read(first.end, LARGE)
    taken = log.take(batch)
    assert (taken.fresh, taken.again, taken.lost, taken.gone) == (4, 4, 0, 0)
    assert log.waiting == 0
    log.close()


def test_batch_in_flight_is_sent_again_and_counts_once(
    tmp_path: Path, harm: Harm
) -> None:
    log = Log(tmp_path / "log", LARGE)
    append(log, 1, 2)
    under_way = log.read(START, LARGE)
    harm(newest(tmp_path / "log"))
    append(log, 3)
    assert log.take(under_way) == (0, 4, 0, 0)
    assert log.waiting == 6
    assert told_only(log, under_way.end) == all_of(1, 2, 3)
    assert log.waiting == 0
    log.close()


def test_last_minute_can_be_sent_again(tmp_path: Path, harm: Harm) -> None:
    """A killed store may need it; older points are not kept."""
    log = Log(tmp_path / "log", LARGE)
    append(log, 1, 2, 3)
    again = log.read(START, 1).end
    assert told_only(log) == all_of(1, 2, 3)
    log.forget(again)
    harm(newest(tmp_path / "log"))
    append(log, 4)
    assert told_only(log, again) == all_of(2, 3, 4)
    log.close()


def test_restart_finds_waiting_records(tmp_path: Path, harm: Harm) -> None:
    log = Log(tmp_path / "log", LARGE)
    append(log, 1, 2)
    position = log.read(START, LARGE).end
    log.take(log.read(START, LARGE))
    append(log, 3)
    harm(newest(tmp_path / "log"))
    append(log, 4)
    taken = log.taken
    log.close()
    if harm is not make_folder:
        again = Log(tmp_path / "log", LARGE, taken)
        assert again.waiting == 4
        assert told_only(again, position)[-2:] == all_of(3, 4)
        again.close()


def test_points_beyond_memory_are_lost_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_MOST_COPIED", 300)
    box = Outbox(tmp_path, LARGE, lambda: None)
    recorder = Recorder(box.log, box.account, lambda: False)
    for tick in range(50):
        recorder.record(tick, Labelled(rows(values(tick)), 2, {}), ())
    newest(tmp_path / "log").unlink()
    while box.has_more:
        batch = box.read(LARGE)
        assert batch
        box.settle(batch, 0, None)
    figures = box.account.figures()
    lost = figures["reasons"]["log damaged"]
    assert 0 < lost < 100 and box.log.waiting == 0
    assert figures["written"] + lost == figures["expected"] == 100
    box.log.close()


def test_full_disk_keeps_points_in_memory_until_there_is_space(tmp_path: Path) -> None:
    log = Log(tmp_path, LARGE)
    append(log, 1, 2)
    newest(tmp_path).unlink()
    with no_room_in_files():
        with pytest.raises(NotLoggedError):
            append(log, 3)
        with pytest.raises(OSError, match="large"):
            log.read(START, LARGE)
        assert list(tmp_path.iterdir()) == []
    append(log, 4)
    assert told_only(log) == all_of(1, 2, 4)
    assert log.waiting == 0
    log.close()


def test_deleted_file_releases_its_space(tmp_path: Path) -> None:
    """Otherwise the copy of its last records would not fit on a full disk."""
    with small_disk(tmp_path / "disk", 512) as disk:
        log = Log(disk / "log", 10 * LARGE)
        log.append(1, [LogRows([b"x" * 200_000], np.array([1.0]))])
        log.append(2, [LogRows([b"y" * 100_000], np.array([2.0]))])
        fill(disk)
        newest(disk / "log").unlink()
        log.append(3, [LogRows([b"z"], np.array([3.0]))])
        assert [tick for tick, found in drain(log) if found] == [1, 2, 3]
        log.close()


def test_shortened_file_does_not_loop_forever(tmp_path: Path) -> None:
    """If an earlier process wrote the segment, nothing of it is in memory."""
    log = Log(tmp_path, LARGE)
    append(log, 1, 2, 3)
    log.close()
    again = Log(tmp_path, LARGE)
    os.truncate(newest(tmp_path), 10)
    batch = again.read(START, LARGE)
    assert batch.unreadable == 1
    assert again.take(batch).lost == 6
    assert again.waiting == 0
    again.close()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["append", "send", "forget", *HARMS]), max_size=30))
def test_each_point_is_written_once_after_any_damage(steps: list[object]) -> None:
    with folder() as path:
        box = Outbox(path, LARGE, lambda: None)
        recorder = Recorder(box.log, box.account, lambda: False)
        stored = set[tuple[int, bytes]]()
        for tick, step in enumerate([*steps, "append", "send"]):
            if step == "append":
                recorder.record(tick, Labelled(rows(values(tick)), 2, {}), ())
            elif step == "send":
                stored |= set(sent(box))
            elif step == "forget":
                box.log.forget(box.log.taken)
            elif callable(step):
                for file in sorted((path / "log").glob("*.log"))[-1:]:
                    if file.is_file():
                        step(file)
        figures = box.account.figures()
        assert figures["missing"] == {} and box.log.waiting == 0
        assert figures["expected"] == figures["written"] == len(stored)
        box.log.close()


def sent(box: Outbox) -> Iterator[tuple[int, bytes]]:
    """Send everything; yield what the store receives."""
    while box.has_more:
        batch = box.read(LARGE)
        assert batch is not None
        for entry in batch.entries:
            for place in entry.rows.places.tolist():
                yield entry.tick_ms, batch.heads[place]
        box.settle(batch, 0, None)


def test_concurrent_appending_and_sending_survives_damage(tmp_path: Path) -> None:
    box = Outbox(tmp_path, 10 * LARGE, lambda: None)
    recorder = Recorder(box.log, box.account, lambda: False)
    ended = threading.Event()

    def harm_again_and_again() -> None:
        for harm in cycle([delete, empty, cut]):
            if ended.wait(0.02):
                return
            for file in sorted((tmp_path / "log").glob("*.log"))[-1:]:
                with suppress(FileNotFoundError):
                    harm(file)

    def append_all() -> None:
        for tick in range(2000):
            recorder.record(tick, Labelled(rows(values(tick)), 2, {}), ())

    stored = set[tuple[int, bytes]]()
    with ThreadPoolExecutor(2) as pool:
        harming, appending = pool.submit(harm_again_and_again), pool.submit(append_all)
        while not appending.done():
            stored |= set(sent(box))
        ended.set()
        harming.result()
    stored |= set(sent(box))
    figures = box.account.figures()
    assert figures["missing"] == {} and box.log.replaced
    assert figures["expected"] == figures["written"] == len(stored) == 4000
    box.log.close()
