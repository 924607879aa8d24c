"""The desk that holds CPUs, plans and runs, beside the one of a stack's API."""

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
from observations.errors import TakenError
from observations.record import Asked
from observations.session import run_manager as desks
from observations.session import run_session as sessions
from observations.session.run_manager import Desk
from observations.session.run_request import Wish
from observations.session.run_session import OVER, RUNNING, Session
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
def desk(settings: Settings) -> Iterator[Desk]:
    desk = Desk(settings)
    yield desk
    for session in desk.sessions:
        desk.cancel(session)
        session.close()
    desk.close()


def wish(*cpus: int, attended: bool = True, host: str = HOST, **more: Any) -> Wish:
    return Wish(Asked(host, ("sleep", "987"), cpus, **more), attended)


def refusal(desk: Desk, *cpus: int, host: str = HOST) -> str:
    """Why CPUs are not to be had now; empty where they are."""
    try:
        desk.drop(desk.begin(wish(*cpus, host=host), None))
    except TakenError as error:
        return str(error)
    return ""


def told(session: Session, pid: int) -> None:
    """Say that a process is its command."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
    now, ticks = time.time_ns(), int(fields[19])
    started = {"event": "started", "start_ns": now, "exec_ns": now, "user": "u"}
    session.take([{**started, "pid": pid, "start_ticks": ticks, "boot": "b"}])


def test_who_came_first_goes_first(desk: Desk) -> None:
    first = desk.begin(wish(0), None)
    with ThreadPoolExecutor(1) as pool:
        whole = pool.submit(desk.begin, wish(), lambda: True)
        wait_until(lambda: "came first and waits for CPU 1" in refusal(desk, 1))
        desk.drop(first)
        desk.drop(whole.result(120))
    assert refusal(desk, 1) == ""


def test_one_whose_command_is_seen_to_run_is_not_silent(
    stack: Stack, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who attends it was stopped, as by Ctrl-Z."""
    monkeypatch.setattr(sessions, "SILENT_SECONDS", 0.1)
    session = desk.begin(wish(0), None)
    with subprocess.Popen(["sleep", "60"]) as command:
        told(session, command.pid)
        time.sleep(0.2)
        desk.tend()
        assert session.state == RUNNING
        assert f"observation {session.id} has CPU 0" in refusal(desk, 0)
        command.kill()
    desk.tend()
    assert session.state == OVER
    assert refusal(desk, 0) == ""
    assert outcome(stack, f"{stack.base}/observation/{session.id}") == "broke off"


def test_one_that_runs_here_is_not_silent(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "SILENT_SECONDS", 0.1)
    session = desk.begin(wish(0, attended=False), None)
    desk.launch(session)
    wait_until(lambda: session.command)
    runner = parent(session.command["pid"])
    os.kill(runner, signal.SIGSTOP)
    try:
        time.sleep(0.2)
        desk.tend()
        assert session.state == RUNNING
        assert refusal(desk, 0)
        desk.cancel(session)
    finally:
        os.kill(runner, signal.SIGCONT)
    wait_until(lambda: session.state == OVER)
    assert session.runs[0].outcome == "cancelled"
    assert refusal(desk, 0) == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="an sshd of its own needs root")
def test_one_that_falls_silent_elsewhere_is_ended_before_its_cpus_are_given_back(
    near: Stack, there: Sshd, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    near.run("add", there.url(), "--host", "node9")
    monkeypatch.setattr(sessions, "SILENT_SECONDS", 1.5)
    # One that ends when it is told to, and one of which that is never known.
    for seconds, how in (10.0, "cancelled"), (0.3, "broke off"):
        monkeypatch.setattr(desks, "_ENDS_SECONDS", seconds)
        session = desk.begin(wish(0, attended=False, host="node9"), None)
        desk.launch(session)
        wait_until(lambda one=session: one.command)
        command = session.command["pid"]
        runner = parent(command)
        os.kill(runner, signal.SIGSTOP)
        try:
            wait_until(lambda one=session: one.is_silent)
            desk.tend()
            assert session.state == RUNNING
            assert refusal(desk, 0, host="node9")
            time.sleep(0.5)
            desk.tend()
            assert session.state == (RUNNING if how == "cancelled" else OVER)
        finally:
            os.kill(runner, signal.SIGCONT)
        wait_until(lambda one=session: one.state == OVER)
        assert outcome(near, f"{near.base}/observation/{session.id}") == how
        wait_until(lambda pid=command: not Path(f"/proc/{pid}").exists())
        assert refusal(desk, 0, host="node9") == ""


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])


def test_runs_that_go_on_with_the_same_cpus_keep_them_until_the_last_has_ended(
    settings: Settings,
) -> None:
    before = [Desk(settings).begin(wish(*cpus), None) for cpus in ((0,), (), (1,))]
    after = Desk(settings)
    after.go_on()
    one, whole, other = (after.find(session.id) for session in before)
    assert one and whole and other
    for session, cpu in (one, 0), (other, 1):
        said = f"observation {whole.id} has CPU {cpu} of {HOST}, too"
        assert session.problem == f"{said}: they measure each other"
    assert one.id in whole.problem or other.id in whole.problem
    after.drop(whole)
    assert f"observation {one.id} has CPU 0" in refusal(after, 0)
    assert f"observation {other.id} has CPU 1" in refusal(after, 1)
    after.drop(one)
    assert refusal(after, 0) == ""
    after.drop(other)
    assert refusal(after) == ""
    after.close()
    for session in before:
        session._held.close()


def test_what_runs_no_more_shares_no_cpus_with_what_goes_on(
    settings: Settings,
) -> None:
    """One that cannot be gone on with, one that was killed with its desk, and one."""
    broken = Desk(settings).begin(wish(0), None)
    with subprocess.Popen(["sleep", "60"]) as command:
        told(broken, command.pid)
        command.kill()
    with pytest.raises(KeyError):  # no runner says this
        broken.take([{"event": "ended"}])
    killed = Desk(settings).begin(wish(0, attended=False), None)
    good = Desk(settings).begin(wish(0), None)
    after = Desk(settings)
    after.go_on()
    assert {one.id: one.state for one in after.sessions} == {
        killed.id: OVER,
        good.id: RUNNING,
    }
    assert [one.problem for one in after.sessions] == ["", ""]
    assert f"observation {good.id} has CPU 0" in refusal(after, 0)
    for session in after.sessions:
        after.drop(session)
    assert refusal(after) == ""
    after.close()
    (settings.home / "observing" / f"{broken.id}.json").unlink()
    (settings.home / "observing" / f"{broken.id}.failed").unlink()
    for session in (broken, killed, good):
        session._held.close()


def test_what_cannot_be_gone_on_with_holds_nothing(
    stack: Stack, settings: Settings
) -> None:
    wait_until(lambda: plans(stack) == {"monitor"}, what="others' plans are gone")
    killed = Desk(settings).begin(wish(0, **_PLAN), None)
    assert len(plans(stack)) == 2
    with subprocess.Popen(["sleep", "60"]) as command:
        told(killed, command.pid)
        with pytest.raises(KeyError):  # no runner says this
            killed.take([{"event": "ended"}])
        for suffix in (".failed", ".set-aside"):
            after = Desk(settings)
            after.go_on()
            assert after.sessions == []
            left = settings.home / "observing" / f"{killed.id}{suffix}"
            wait_until(left.exists, what=suffix)
            assert plans(stack) == {"monitor"}
            # It may run still.
            assert f"observation {killed.id} has CPU 0" in refusal(after, 0)
        command.kill()
    wait_until(lambda: not refusal(after, 0))
    assert '"sleep", "987"' in left.read_text()
    left.unlink()
    killed._held.close()
