"""How a session ends and what it reports, without stores or runners."""

import logging
import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from core.errors import SuperTwinError, error_code
from core.settings.state import StackState, write_state
from observations.errors import RunInterruptedError, RunLostError, RunnerEventError
from observations.launch import RunnerEvent
from observations.record import RunRequest, RunSpec
from observations.session import run_state
from observations.session.repetition import EVENTS
from observations.session.run_manager import RunManager
from observations.session.run_session import RunSession
from observations.session.run_state import State
from tests.observations.session.scene import HOST
from tests.servers import ENDS_WITH_US

STARTED = {"event": "started", "start_ns": 1, "exec_ns": 1, "pid": 1}


def run_request(*cpus: int, attended: bool = True, **more: Any) -> RunRequest:
    return RunRequest(RunSpec(HOST, ("sleep", "987"), cpus, **more), attended)


@contextmanager
def at_each_change(look: Callable[[], object]) -> Iterator[None]:
    """Call ``look`` as soon as another thread could see a new state of a session."""

    class Look(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            look()

    log, handler = logging.getLogger(run_state.__name__), Look()
    before = log.level
    log.setLevel(logging.DEBUG)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


def test_ended_session_can_be_found_at_once(manager: RunManager) -> None:
    session = manager.begin(run_request(), None)
    found = []

    def look() -> None:
        manager.maintain()
        found.append((session.state, manager.find(session.id)))

    with at_each_change(look):
        session.close()
    assert found == [(State.REFUSED, session)]


def test_cpus_of_an_ended_session_are_free_at_once(manager: RunManager) -> None:
    session = manager.begin(run_request(0), None)
    found = []
    with at_each_change(
        lambda: found.append((session.state, manager._cpus.pinned(HOST)))
    ):
        session.close()
    assert found == [(State.REFUSED, frozenset())]


@contextmanager
def changes(session: RunSession) -> Iterator[list[tuple[State, str]]]:
    """Return the states that a session takes, each with its problem's code then."""
    found: list[tuple[State, str]] = []

    def note() -> None:
        problem = session.status.problem
        found.append((session.state, error_code(problem) if problem else ""))

    with at_each_change(note):
        yield found


STOPPED, BROKEN = RunInterruptedError.code, RunLostError.code


def test_reason_is_visible_with_the_state(manager: RunManager) -> None:
    session = manager.begin(run_request(), None)
    with changes(session) as found:
        session.lose()
        session.interrupt("SuperTwin was stopped")
    assert found == [(State.LOST, BROKEN), (State.INTERRUPTED, STOPPED)]


@pytest.mark.parametrize(
    ("events", "before", "states"),
    [
        ([], lambda _: None, [(State.REFUSED, BROKEN)]),
        (
            [STARTED],
            lambda _: None,
            [(State.LOST, BROKEN), (State.RECORDING, BROKEN)],
        ),
        ([STARTED], lambda one: one.interrupt(""), [(State.RECORDING, STOPPED)]),
    ],
    ids=["opened", "running", "interrupted"],
)
def test_failure_of_the_runner_does_not_replace_the_reason_of_the_end(
    manager: RunManager,
    events: list[RunnerEvent],
    before: Callable[[RunSession], None],
    states: list[tuple[State, str]],
) -> None:
    session = manager.begin(run_request(), None)
    session.take(events)
    before(session)
    with changes(session) as found:
        session.fail(RunLostError("the runner was killed"))
    assert found == states


def test_events_out_of_order_change_nothing(manager: RunManager) -> None:
    session = manager.begin(run_request(), None)
    with pytest.raises(RunnerEventError, match="'alive' comes before its run"):
        session.take([{"event": "alive", "ns": 1}])
    session.take([STARTED])
    with pytest.raises(RunnerEventError, match="has started already"):
        session.take([{"event": "alive", "ns": 1}, STARTED])
    session.take([STARTED], first=0)  # repeated
    assert session.state is State.RUNNING
    (run,) = session.repetitions.all
    assert run.log.events == [STARTED]
    assert len((run.folder / EVENTS).read_text().splitlines()) == 1


def test_concurrent_reports_start_a_run_once(manager: RunManager) -> None:
    session = manager.begin(run_request(), None)
    with ThreadPoolExecutor(8) as pool:
        reports = [pool.submit(session.take, [STARTED]) for _ in range(8)]
    refused = [one.exception() for one in reports if one.exception()]
    assert [type(error) for error in refused] == [RunnerEventError] * 7
    assert session.repetitions.event_count == 1


@pytest.fixture
def stack_process(tmp_path: Path) -> Iterator[int]:
    """The pid of a process that is all of the stack."""
    with subprocess.Popen([*ENDS_WITH_US, "sleep", "987"]) as process:
        cpus = sorted(os.sched_getaffinity(0))
        write_state(tmp_path, StackState(process.pid, 0.0, cpus=cpus))
        yield process.pid
        process.kill()


def test_stack_returns_to_the_cpus_of_runs_that_are_stopped(
    manager: RunManager, stack_process: int
) -> None:
    permitted = os.sched_getaffinity(0)
    cpu = min(permitted)
    manager.begin(run_request(cpu, attended=False), None)
    others = permitted - {cpu} or permitted
    assert os.sched_getaffinity(stack_process) == others
    manager.close()
    assert os.sched_getaffinity(stack_process) == permitted


def test_stack_returns_to_the_cpus_of_a_refused_run(
    manager: RunManager, stack_process: int
) -> None:
    cpu = min(os.sched_getaffinity(0))
    with pytest.raises(SuperTwinError):  # the store does not answer
        manager.begin(run_request(cpu, metrics=("kernel.all.load",)), None)
    assert os.sched_getaffinity(stack_process) == os.sched_getaffinity(0)
