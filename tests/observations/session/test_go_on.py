"""Runs that a start of the API finds: they hold nothing up, and have their time."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.settings.settings import Settings
from observations.record import Asked
from observations.session import run_manager as desks
from observations.session import run_session as sessions
from observations.session.counter_snapshots import Mark
from observations.session.repetition import Repetition, begun, left_of
from observations.session.run_manager import Desk
from observations.session.run_request import Wish
from observations.session.run_sampling import Meanwhile
from observations.session.run_session import RUNNING
from observations.session.session_journal import keep_open, left_open
from sampling.events.event import Event

pytestmark = pytest.mark.serial

FAULTS = Event("software", "page-faults", kernel=True).value


def wish(attended: bool) -> Wish:
    events = ("software::page-faults",)
    return Wish(Asked("node9", ("sleep", "987"), events=events), attended)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """One that nobody answers."""
    nobody = "http://127.0.0.1:9"
    desk = Desk(Settings(home=tmp_path, host="node8", fuseki_url=nobody))
    yield desk
    for session in desk.sessions:
        session.close()
    assert not desk._lanes.wait(120)


def leave(home: Path, id_: str, attended: bool) -> None:
    """A run with PMU events, on a host that the bridge does not get to."""
    keep_open(home, id_, wish(attended))
    run = begun(home, wish(attended), id_, 1, Mark(1.0, {(FAULTS, "cpu0"): 1.0}))
    run.take({"event": "started", "start_ns": time.time_ns(), "pid": 1})


def test_a_host_that_is_away_holds_no_start_up(tmp_path: Path, desk: Desk) -> None:
    for number in range(4):
        leave(tmp_path, f"run{number}", attended=number % 2 == 0)
    desk.go_on()
    assert [one.id for one in desk.sessions if one.state == RUNNING] == ["run0", "run2"]


def test_who_attends_a_run_is_waited_for_from_the_end_of_the_start(
    tmp_path: Path, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = 0.0

    def slowly(home: Path, wish: Wish, group: str) -> list[Repetition]:
        nonlocal passed
        passed += sessions.SILENT_SECONDS
        return left_of(home, wish, group)

    monkeypatch.setattr(desks, "left_of", slowly)
    clock = SimpleNamespace(time=time.time, monotonic=lambda: passed)
    monkeypatch.setattr(sessions, "time", clock)
    for number in range(2):
        leave(tmp_path, f"run{number}", attended=True)
    desk.go_on()
    desk.tend()
    assert [one.state for one in desk.sessions] == [RUNNING] * 2
    assert passed == 2 * sessions.SILENT_SECONDS
    passed += sessions.SILENT_SECONDS + 1
    assert all(one.is_silent for one in desk.sessions)


def test_sampling_that_starts_slowly_is_not_silence(
    tmp_path: Path, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another host's counters took 20 s to start, and the run was cancelled at once."""
    passed = 0.0

    @contextmanager
    def slowly(settings: Settings, wish: Wish, *_: object) -> Iterator[Meanwhile]:
        nonlocal passed
        passed += sessions.SILENT_SECONDS + 5
        yield Meanwhile(settings, wish.asked)

    clock = SimpleNamespace(time=time.time, monotonic=lambda: passed)
    monkeypatch.setattr(sessions, "time", clock)
    monkeypatch.setattr(sessions, "sampled", slowly)
    session = desk.begin(wish(attended=True), None)
    desk.tend()
    assert (session.state, session.is_cancelled) == (RUNNING, False)
    passed += sessions.SILENT_SECONDS + 1
    assert session.is_silent


def test_what_hangs_does_not_keep_the_api_from_ending(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        desk = Desk(Settings(home=tmp_path, host="node8", fuseki_url=url))
        leave(tmp_path, "run1", attended=False)
        desk.go_on()
        began = time.monotonic()
        desk.close()
        assert time.monotonic() - began < 60  # it would hang for ever
        assert "node9: the next start records what ran there" in caplog.text
    assert not desk._lanes.wait(120)
    assert [id_ for id_, _ in left_open(tmp_path)] == ["run1"]
