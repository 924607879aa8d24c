"""Nudges between processes, and folders where there can be none."""

import logging
import time
from pathlib import Path
from threading import Timer

import pytest

from sampler_bridge.plan.nudge import NUDGE_FILE, Nudges, nudge


def seconds(nudges: Nudges, longest: float) -> float:
    started = time.monotonic()
    nudges.wait(longest)
    return time.monotonic() - started


def test_a_nudge_ends_the_wait_and_many_are_one(tmp_path: Path) -> None:
    nudges = Nudges(tmp_path)
    Timer(0.1, nudge, [tmp_path]).start()
    assert 0.05 < seconds(nudges, 10) < 5
    assert all(nudge(tmp_path) for _ in range(100_000))
    assert seconds(nudges, 10) < 1
    while seconds(nudges, 0.05) < 0.04:
        pass
    assert seconds(nudges, 0.2) > 0.15
    nudges.close()


def test_nobody_is_nudged_where_no_bridge_listens(tmp_path: Path) -> None:
    assert not nudge(tmp_path / "none")
    Nudges(tmp_path).close()
    assert (tmp_path / NUDGE_FILE).is_fifo()
    assert not nudge(tmp_path)


def test_a_pipe_of_an_earlier_bridge_serves_the_next(tmp_path: Path) -> None:
    Nudges(tmp_path).close()
    nudges = Nudges(tmp_path)
    assert nudge(tmp_path)
    assert seconds(nudges, 10) < 1
    nudges.close()


def test_without_a_pipe_it_waits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / NUDGE_FILE).write_text("no pipe")
    nudges = Nudges(tmp_path)
    nudge(tmp_path)
    assert (tmp_path / NUDGE_FILE).read_text() == "no pipe"
    assert seconds(nudges, 0.1) > 0.08
    with caplog.at_level(logging.WARNING):
        nowhere = Nudges(tmp_path / "none")
    assert "no nudges" in caplog.text
    assert seconds(nowhere, 0.1) > 0.08
    assert [path.name for path in tmp_path.iterdir()] == [NUDGE_FILE]
