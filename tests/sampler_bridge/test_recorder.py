"""The account of a log whose disk is full: every point is accounted for."""

from pathlib import Path

from sampler_bridge.log.log import Log
from sampler_bridge.sampling.labelled import Labelled
from sampler_bridge.sampling.recorder import Recorder
from sampler_bridge.sending.outbox import Outbox
from sampling.account.account import Account
from sampling.account.reasons import GapReason
from tests.limits import no_room_in_files
from tests.sampler_bridge.wire import rows_of


def record(recorder: Recorder, tick: int) -> None:
    recorder.record(tick, Labelled(rows_of("a", tick), 1, {}), ())


def test_points_of_an_unwritten_record_are_counted(
    tmp_path: Path,
) -> None:
    log, account = Log(tmp_path, 1000), Account(0)
    recorder = Recorder(log, account, lambda: False)
    for tick in range(50):
        record(recorder, tick)
    full = account.figures()
    with no_room_in_files():
        for tick in range(50, 60):
            record(recorder, tick)
    figures = account.figures()
    assert figures["dropped"] > full["dropped"] > 0
    assert figures["reasons"][GapReason.LOG_FAILED] == 10
    assert figures["expected"] == sum(figures["reasons"].values()) + log.waiting == 60
    record(recorder, 60)
    assert log.waiting == 61 - sum(account.figures()["reasons"].values())
    log.close()


def test_reason_of_an_unwritten_log_is_reported_until_it_is_written(
    tmp_path: Path,
) -> None:
    box = Outbox(tmp_path, 10**6, lambda: None)
    recorder = Recorder(box.log, box.account, lambda: False)
    for _ in range(2):  # a new file, then an existing one
        with no_room_in_files():
            record(recorder, 1)
        (file,) = (tmp_path / "log").iterdir()
        assert box.reason and f"{file} cannot be written (File too" in box.reason
        record(recorder, 2)
        assert box.reason is None
    box.log.close()
