"""Real runs take every transition between states, also when the API is killed."""

import logging
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.settings.settings import Settings
from core.stores.datasets import dataset
from observations.errors import (
    CpusTakenError,
    LaunchError,
    RunInterruptedError,
    RunLostError,
)
from observations.launch import events, prestarted_runner
from observations.session import run_state
from observations.session.run_manager import RunManager
from observations.session.run_state import TRANSITIONS, State
from ontology.iris import Iris
from ontology.terms import ST
from tests.observations.session.scene import (
    HOST,
    OTHER_HOST,
    SLEEP,
    Scene,
    ended,
    killed_api,
    runner_of,
)
from tests.servers import Fuseki, wait_until


def repeated(scene: Scene) -> None:
    session = scene.begin("true", repeat=2)
    scene.manager.launch(session)
    ended(session)
    assert [run.outcome for run in session.runs] == ["completed"] * 2
    session.cancel()  # too late
    assert session.state is State.RECORDED


def taken(scene: Scene) -> None:
    scene.manager._cpus.keep(HOST, (), "other")
    with pytest.raises(CpusTakenError):
        scene.begin(wait=None)


def waited(scene: Scene) -> None:
    scene.manager._cpus.keep(HOST, (), "other")
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(scene.begin, "true", wait=lambda: True)
        wait_until(lambda: scene.manager._cpus._queues.get(HOST))
        scene.manager._cpus.release(HOST, "other")
    session = future.result()
    scene.manager.launch(session)
    ended(session)


def gave_up(scene: Scene) -> None:
    scene.manager._cpus.keep(HOST, (), "other")
    answers = iter((True, False))
    with pytest.raises(CpusTakenError):
        scene.begin(wait=lambda: next(answers))
    assert not scene.manager._cpus._queues[HOST]


def no_such_command(scene: Scene) -> None:
    session = scene.begin("/no/such/command")
    scene.manager.launch(session)
    ended(session)
    assert isinstance(session.status.problem, LaunchError)


def cancelled(scene: Scene) -> None:
    session = scene.running()
    session.cancel()
    ended(session)
    assert session.runs[0].outcome == "cancelled"


def cancelled_before_the_start(scene: Scene) -> None:
    session = scene.begin(repeat=3)
    session.cancel()
    scene.manager.launch(session)
    ended(session)
    assert [run.outcome for run in session.runs] == ["cancelled"]


def client_never_reports(scene: Scene) -> None:
    session = scene.begin(attended=True)
    scene.lose()
    ended(session)
    assert session.is_unwanted
    assert isinstance(session.status.problem, RunLostError)
    assert f"the runner on {HOST} (last" in str(session.status.problem)


def client_is_killed(scene: Scene) -> None:
    session = scene.begin(attended=True)
    program = session.program()
    assert program
    with prestarted_runner(os.environ) as runner:
        runner.start(program)
        session.take([next(events(runner))])
    scene.lose()
    ended(session)


def runner_is_killed(scene: Scene) -> None:
    session = scene.running()
    os.kill(runner_of(session), signal.SIGKILL)
    ended(session)
    assert isinstance(session.status.problem, RunLostError)


def runner_is_killed_after_cancel(scene: Scene) -> None:
    session = scene.running()
    runner = runner_of(session)
    os.kill(runner, signal.SIGSTOP)
    session.cancel()
    os.kill(runner, signal.SIGKILL)
    ended(session)


def stopped_before_the_start(scene: Scene) -> None:
    session = scene.begin()
    scene.manager.close()
    ended(session)


def stopped(scene: Scene) -> None:
    session = scene.running()
    command = Path(f"/proc/{session.repetitions.command['pid']}")
    scene.manager.close()
    ended(session)
    assert isinstance(session.status.problem, RunInterruptedError)
    wait_until(lambda: not command.exists())


def stopped_after_cancel(scene: Scene) -> None:
    session = scene.running()
    runner = runner_of(session)
    os.kill(runner, signal.SIGSTOP)
    session.cancel()
    scene.manager.close()
    os.kill(runner, signal.SIGCONT)
    ended(session)


def stopped_after_lost_contact(scene: Scene) -> None:
    session = scene.begin(host=OTHER_HOST)
    scene.lose()
    assert session.state is State.LOST  # it has 10 s to end
    scene.manager.close()
    ended(session)


def resumed(scene: Scene) -> None:
    go = scene.settings.home / "go"
    script = f"until [ -e {go} ]; do sleep 0.1; done"
    session = killed_api(scene, "launch", "sh", "-c", script)
    assert session.state is State.RUNNING
    go.touch()
    ended(session)
    assert [run.outcome for run in session.runs] == ["completed"]


def not_resumed(scene: Scene) -> None:
    session = killed_api(scene, "wait", *SLEEP)
    ended(session)
    assert isinstance(session.status.problem, RunInterruptedError)


STARTED, RECORDED = "open opened start running", "end recording record recorded"
AGAIN, STOP = "next opened start running", "interrupt interrupted"
SCENARIOS: list[tuple[Callable[[Scene], None], str]] = [
    (repeated, f"{STARTED} {AGAIN} {RECORDED}"),
    (taken, "refuse refused"),
    (waited, f"wait queued {STARTED} {RECORDED}"),
    (gave_up, "wait queued refuse refused"),
    (no_such_command, "open opened refuse refused"),
    (cancelled, f"{STARTED} cancel cancelled {RECORDED}"),
    (cancelled_before_the_start, f"open opened cancel cancelled {RECORDED}"),
    (client_never_reports, f"open opened lose lost {RECORDED}"),
    (client_is_killed, f"{STARTED} lose lost {RECORDED}"),
    (runner_is_killed, f"{STARTED} lose lost {RECORDED}"),
    (runner_is_killed_after_cancel, f"{STARTED} cancel cancelled lose lost {RECORDED}"),
    (stopped_before_the_start, f"open opened {STOP} {RECORDED}"),
    (stopped, f"{STARTED} {STOP} {RECORDED}"),
    (stopped_after_cancel, f"{STARTED} cancel cancelled {STOP} {RECORDED}"),
    (stopped_after_lost_contact, f"open opened lose lost {STOP} {RECORDED}"),
    (resumed, f"{STARTED} {RECORDED}"),
    (not_resumed, f"{STOP} {RECORDED}"),
]


@pytest.fixture
def scene(
    before_fuseki: Fuseki, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Scene]:
    monkeypatch.setenv("SUPERTWIN_HOST", HOST)
    settings, iris = Settings(), Iris("http://localhost:8000")
    nodes = (
        f"<{iris.host(name)}> a <{ST.ComputeNode}> ." for name in (HOST, OTHER_HOST)
    )
    with dataset(settings, "twin") as twin:
        twin.update(f"INSERT DATA {{ GRAPH <x:hosts> {{ {' '.join(nodes)} }} }}")
    manager = RunManager(settings)
    yield Scene(settings, manager, monkeypatch)
    manager.close()


@pytest.mark.parametrize(
    ("scenario", "path"),
    [pytest.param(*one, id=one[0].__name__) for one in SCENARIOS],
)
def test_real_runs_take_their_path(
    scene: Scene,
    caplog: pytest.LogCaptureFixture,
    scenario: Callable[[Scene], None],
    path: str,
) -> None:
    caplog.set_level(logging.DEBUG, run_state.__name__)
    scenario(scene)

    def walked() -> str:
        changes = [one.args for one in caplog.records if one.name == run_state.__name__]
        return " ".join(f"{event} {after}" for _, _, after, event in changes)

    # A change is logged just after others can see it.
    last = path.rpartition(" ")[2]
    wait_until(lambda: walked().endswith(last))
    assert walked() == path


def test_the_paths_walk_every_transition() -> None:
    walked = set()
    for _, path in SCENARIOS:
        words = ["requested", *path.split()]
        walked |= {*zip(words[::2], words[1::2], words[2::2], strict=False)}
    assert walked == {
        (before, event, after)
        for before, row in TRANSITIONS.items()
        for event, after in row.items()
    }
