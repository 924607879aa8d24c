"""Runs that an API start finds: they delay nothing, and get their full time."""

import socket
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.settings.settings import Settings
from observations.launch import prestarted_runner
from observations.record import RunRequest, RunSpec
from observations.session import run_manager, run_session
from observations.session.counter_snapshots import CounterSnapshot
from observations.session.repetition import Repetition, begin_run, unfinished_runs
from observations.session.run_manager import RunManager
from observations.session.run_sampling import RunSampling
from observations.session.run_state import State
from observations.session.session_journal import add_open_request, open_requests
from sampling.events.event import PmuEvent
from tests.observations.session.scene import HOST, OTHER_HOST

pytestmark = pytest.mark.serial

FAULTS = PmuEvent("software", "page-faults", kernel=True).value


def run_request(attended: bool) -> RunRequest:
    events = ("software::page-faults",)
    return RunRequest(RunSpec(OTHER_HOST, ("sleep", "987"), events=events), attended)


def leave(home: Path, id_: str, attended: bool) -> None:
    """Leave an open run with PMU events, on a host that the bridge does not reach."""
    add_open_request(home, id_, run_request(attended))
    run = begin_run(
        home,
        run_request(attended),
        id_,
        1,
        CounterSnapshot(1.0, {(FAULTS, "cpu0"): 1.0}),
    )
    run.take({"event": "started", "start_ns": time.time_ns(), "pid": 1})


def test_unreachable_host_does_not_delay_the_start(
    tmp_path: Path, manager: RunManager
) -> None:
    for number in range(4):
        leave(tmp_path, f"run{number}", attended=number % 2 == 0)
    manager.resume()
    running = [one.id for one in manager.sessions if one.state is State.RUNNING]
    assert running == ["run0", "run2"]


def test_attended_runs_count_as_silent_only_after_the_start(
    tmp_path: Path, manager: RunManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = 0.0

    def slowly(home: Path, run_request: RunRequest, group: str) -> list[Repetition]:
        nonlocal passed
        passed += run_session.SILENT_SECONDS
        return unfinished_runs(home, run_request, group)

    monkeypatch.setattr(run_manager, "unfinished_runs", slowly)
    clock = SimpleNamespace(time=time.time, monotonic=lambda: passed)
    monkeypatch.setattr(run_session, "time", clock)
    for number in range(2):
        leave(tmp_path, f"run{number}", attended=True)
    manager.resume()
    manager.maintain()
    assert [one.state for one in manager.sessions] == [State.RUNNING] * 2
    assert passed == 2 * run_session.SILENT_SECONDS
    passed += run_session.SILENT_SECONDS + 1
    assert all(one.is_silent for one in manager.sessions)


def test_sampling_that_starts_slowly_is_not_silence(
    tmp_path: Path, manager: RunManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counters of another host took 20 s to start, and the run was cancelled."""
    passed = 0.0

    def slowly(_: RunSampling) -> None:
        nonlocal passed
        passed += run_session.SILENT_SECONDS + 5

    clock = SimpleNamespace(time=time.time, monotonic=lambda: passed)
    monkeypatch.setattr(run_session, "time", clock)
    monkeypatch.setattr(RunSampling, "start", slowly)
    session = manager.begin(run_request(attended=True), None)
    manager.maintain()
    assert session.state is State.OPENED
    passed += run_session.SILENT_SECONDS + 1
    assert session.is_silent


def test_slow_compiler_of_another_host_is_not_silence(
    manager: RunManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = 0.0
    clock = SimpleNamespace(time=time.time, monotonic=lambda: passed)
    monkeypatch.setattr(run_session, "time", clock)
    spec = RunSpec(OTHER_HOST, ("sleep", "987"), pop=True)
    session = manager.begin(RunRequest(spec), None)
    with prestarted_runner({}) as runner:
        session.follow(runner)
        passed += run_session.SILENT_SECONDS + 60
        assert not session.is_silent
        passed += spec.preparation_seconds
        assert session.is_silent
        session.follow(None)


def test_hanging_work_does_not_block_the_end_of_the_api(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        manager = RunManager(Settings(home=tmp_path, host=HOST, fuseki_url=url))
        leave(tmp_path, "run1", attended=False)
        manager.resume()
        began = time.monotonic()
        manager.close()
        assert time.monotonic() - began < 60  # without the limit it would hang forever
        assert f"{OTHER_HOST}: the next start records what ran there" in caplog.text
    assert not manager._queues.wait(120)
    assert [id_ for id_, _ in open_requests(tmp_path)] == ["run1"]
