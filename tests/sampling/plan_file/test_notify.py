"""Nudges between processes, and folders where there can be none."""

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Timer

import pytest

from sampling.plan_file.notify import NUDGE_FILE, Named, Nudges, nudge


def seconds(nudges: Nudges, longest: float) -> float:
    started = time.monotonic()
    nudges.wait(longest)
    return time.monotonic() - started


def test_a_nudge_ends_the_wait_and_many_are_one(tmp_path: Path) -> None:
    nudges, begun = Nudges(tmp_path), Event()

    def begin() -> None:
        begun.set()
        nudge(tmp_path)

    Timer(0.1, begin).start()
    assert seconds(nudges, 120) < 60
    assert begun.is_set()
    assert all(nudge(tmp_path) for _ in range(100_000))
    assert seconds(nudges, 120) < 60
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
    assert seconds(nudges, 120) < 60
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


def test_nudges_name_what_has_changed(tmp_path: Path) -> None:
    nudges = Nudges(tmp_path)
    first, second = Named("n 1", 'a"\n'), Named("\u00f6", "b")
    assert nudge(tmp_path, first)
    assert nudge(tmp_path, second)
    assert nudge(tmp_path, first)
    assert nudges.wait(1) == {first, second}
    assert nudges.wait(0.01) == set()
    nudges.close()


@pytest.mark.parametrize(
    "others",
    [[None], [Named("h" * 2000, "a")], [Named("h", "a")] * 10_000],
    ids=["one without a name", "a long name", "more than the pipe holds"],
)
def test_some_nudges_name_nothing(tmp_path: Path, others: list[Named | None]) -> None:
    nudges = Nudges(tmp_path)
    for named in (Named("n1", "fast"), *others):
        assert nudge(tmp_path, named)
    assert nudges.wait(1) == set()
    nudges.close()


@pytest.mark.parametrize(
    "said", [b"what\n", b"[1, 2]\n", b'["a"]\n', b"7\n", b"\xff\n"]
)
def test_what_is_no_name_names_nothing(tmp_path: Path, said: bytes) -> None:
    nudges = Nudges(tmp_path)
    with (tmp_path / NUDGE_FILE).open("wb", buffering=0) as pipe:
        pipe.write(said)
    assert nudges.wait(1) == set()
    nudges.close()


def replace(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("harm", [Path.unlink, replace])
def test_a_pipe_that_is_gone_is_made_again(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    nudges = Nudges(tmp_path)
    harm(tmp_path / NUDGE_FILE)
    nudges.wait(0.01)
    named = Named("n1", "fast")
    assert nudge(tmp_path, named)
    assert nudges.wait(120) == {named}
    nudges.close()


def test_a_folder_that_comes_later_gets_a_pipe(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = tmp_path / "state"
    nudges = Nudges(state)
    for _ in range(3):
        nudges.wait(0.01)
    assert caplog.text.count("no nudges") == 1
    state.mkdir()
    nudges.wait(0.01)
    assert nudge(state)
    nudges.close()
