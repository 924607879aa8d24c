"""A run manager next to that of a stack's API: CPUs, plans and sessions."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from core.settings.settings import Settings
from observations.errors import (
    CpusSharedError,
    CpusTakenError,
    RunInterruptedError,
    RunLostError,
)
from observations.record import RunRequest, RunSpec
from observations.session import run_manager as desks
from observations.session import run_session as sessions
from observations.session.run_manager import RunManager
from observations.session.run_session import RunSession
from observations.session.run_state import State
from tests.observed import outcome, plans
from tests.servers import wait_until
from tests.sshd import Sshd
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e

_PLAN = {"metrics": ("kernel.all.pswitch",), "period_ms": 100}


@pytest.fixture
def settings(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in stack.env.items():
        if name.startswith("SUPERTWIN_"):
            monkeypatch.setenv(name, value)
    return Settings()


@pytest.fixture
def manager(settings: Settings) -> Iterator[RunManager]:
    manager = RunManager(settings)
    yield manager
    for session in manager.sessions:
        session.cancel()
        session.close()
    manager.close()


def run_request(
    *cpus: int, attended: bool = True, host: str = HOST, **more: Any
) -> RunRequest:
    return RunRequest(RunSpec(host, ("sleep", "987"), cpus, **more), attended)


def refusal(manager: RunManager, *cpus: int, host: str = HOST) -> str:
    """Return why CPUs are unavailable now, or an empty string."""
    try:
        manager.drop(manager.begin(run_request(*cpus, host=host), None))
    except CpusTakenError as error:
        return str(error)
    return ""


def report_start(session: RunSession, pid: int) -> None:
    """Report a process as the session's command."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
    now, ticks = time.time_ns(), int(fields[19])
    started = {"event": "started", "start_ns": now, "exec_ns": now, "user": "u"}
    session.take([{**started, "pid": pid, "start_ticks": ticks, "boot": "b"}])


def test_requests_are_served_in_order_of_arrival(manager: RunManager) -> None:
    first = manager.begin(run_request(0), None)
    with ThreadPoolExecutor(1) as pool:
        whole = pool.submit(manager.begin, run_request(), lambda: True)
        wait_until(lambda: "came first and waits for CPU 1" in refusal(manager, 1))
        manager.drop(first)
        manager.drop(whole.result(120))
    assert refusal(manager, 1) == ""


def test_session_whose_command_runs_is_not_silent(
    stack: Stack, manager: RunManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attending process was stopped, as by Ctrl-Z."""
    monkeypatch.setattr(sessions, "SILENT_SECONDS", 0.1)
    session = manager.begin(run_request(0), None)
    with subprocess.Popen(["sleep", "60"]) as command:
        report_start(session, command.pid)
        time.sleep(0.2)
        manager.maintain()
        assert session.state is State.RUNNING
        assert f"observation {session.id} has CPU 0" in refusal(manager, 0)
        command.kill()
    manager.maintain()
    assert session.state.is_over
    assert refusal(manager, 0) == ""
    assert outcome(stack, f"{stack.base}/observation/{session.id}") == "broke off"


def test_local_run_without_events_is_not_silent(
    manager: RunManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "SILENT_SECONDS", 0.1)
    session = manager.begin(run_request(0, attended=False), None)
    manager.launch(session)
    wait_until(lambda: session.repetitions.command)
    runner = parent(session.repetitions.command["pid"])
    os.kill(runner, signal.SIGSTOP)
    try:
        time.sleep(0.2)
        manager.maintain()
        assert session.state is State.RUNNING
        assert refusal(manager, 0)
        session.cancel()
    finally:
        os.kill(runner, signal.SIGCONT)
    wait_until(lambda: session.state.is_over)
    assert session.runs[0].outcome == "cancelled"
    assert refusal(manager, 0) == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="an sshd of its own needs root")
def test_silent_remote_run_is_ended_before_its_cpus_are_released(
    near: Stack, there: Sshd, manager: RunManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    near.run("add", there.url(), "--host", "node9")
    monkeypatch.setattr(sessions, "SILENT_SECONDS", 1.5)
    # The first run ends in time; the wait for the end of the second is too short.
    for seconds, how in (10.0, "cancelled"), (0.3, "broke off"):
        monkeypatch.setattr(desks, "_ENDS_SECONDS", seconds)
        session = manager.begin(run_request(0, attended=False, host="node9"), None)
        manager.launch(session)
        wait_until(lambda one=session: one.repetitions.command)
        command = session.repetitions.command["pid"]
        runner = parent(command)
        os.kill(runner, signal.SIGSTOP)
        try:
            wait_until(lambda one=session: one.is_silent)
            manager.maintain()
            assert session.state is State.LOST
            assert isinstance(session.status.problem, RunLostError)
            assert refusal(manager, 0, host="node9")
            time.sleep(0.5)
            manager.maintain()
            assert session.state.is_over == (how == "broke off")
        finally:
            os.kill(runner, signal.SIGCONT)
        wait_until(lambda one=session: one.state.is_over)
        assert outcome(near, f"{near.base}/observation/{session.id}") == how
        wait_until(lambda pid=command: not Path(f"/proc/{pid}").exists())
        assert refusal(manager, 0, host="node9") == ""


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])


def test_resumed_runs_keep_shared_cpus_until_the_last_has_ended(
    settings: Settings,
) -> None:
    before = [
        RunManager(settings).begin(run_request(*cpus), None)
        for cpus in ((0,), (), (1,))
    ]
    after = RunManager(settings)
    after.resume()
    one, whole, other = (after.find(session.id) for session in before)
    assert one and whole and other
    for session, cpu in (one, 0), (other, 1):
        said = f"observation {whole.id} has CPU {cpu} of {HOST} as well"
        others = "so they influence each other's measurements"
        assert isinstance(session.status.problem, CpusSharedError)
        assert str(session.status.problem) == f"{said}, {others}"
    told = str(whole.status.problem)
    assert one.id in told or other.id in told
    after.drop(whole)
    assert f"observation {one.id} has CPU 0" in refusal(after, 0)
    assert f"observation {other.id} has CPU 1" in refusal(after, 1)
    after.drop(one)
    assert refusal(after, 0) == ""
    after.drop(other)
    assert refusal(after) == ""
    after.close()
    for session in before:
        session._recorder._sampling.stop()


def test_ended_runs_share_no_cpus_with_resumed_runs(
    settings: Settings,
) -> None:
    """One session cannot be resumed, one was killed with its run manager, one runs."""
    broken = RunManager(settings).begin(run_request(0), None)
    with subprocess.Popen(["sleep", "60"]) as command:
        report_start(broken, command.pid)
        command.kill()
    with pytest.raises(KeyError):  # a runner never sends this
        broken.take([{"event": "ended"}])
    killed = RunManager(settings).begin(run_request(0, attended=False), None)
    good = RunManager(settings).begin(run_request(0), None)
    after = RunManager(settings)
    after.resume()
    found = {one.id: one.status.problem for one in after.sessions}
    assert found.keys() == {killed.id, good.id}
    assert isinstance(found[killed.id], RunInterruptedError) and not found[good.id]
    over = {one.id for one in after.sessions if one.state.is_over}
    assert over == {killed.id}
    assert f"observation {good.id} has CPU 0" in refusal(after, 0)
    for session in after.sessions:
        after.drop(session)
    assert refusal(after) == ""
    after.close()
    (settings.home / "observing" / f"{broken.id}.json").unlink()
    (settings.home / "observing" / f"{broken.id}.failed").unlink()
    for session in (broken, killed, good):
        session._recorder._sampling.stop()


def test_session_that_cannot_be_resumed_holds_nothing(
    stack: Stack, settings: Settings
) -> None:
    wait_until(lambda: plans(stack) == {"monitor"}, what="others' plans are gone")
    killed = RunManager(settings).begin(run_request(0, **_PLAN), None)
    assert len(plans(stack)) == 2
    with subprocess.Popen(["sleep", "60"]) as command:
        report_start(killed, command.pid)
        with pytest.raises(KeyError):  # a runner never sends this
            killed.take([{"event": "ended"}])
        for suffix in (".failed", ".set-aside"):
            after = RunManager(settings)
            after.resume()
            assert after.sessions == []
            left = settings.home / "observing" / f"{killed.id}{suffix}"
            wait_until(left.exists, what=suffix)
            assert plans(stack) == {"monitor"}
            # The command may still run.
            assert f"observation {killed.id} has CPU 0" in refusal(after, 0)
        command.kill()
    wait_until(lambda: not refusal(after, 0))
    assert '"sleep", "987"' in left.read_text()
    left.unlink()
    killed._recorder._sampling.stop()
