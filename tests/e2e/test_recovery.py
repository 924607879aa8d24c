"""After kill -9 each service restarts by itself, and no monitored tick is lost."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.sampler_bridge.heartbeat import Heartbeat
from tests.servers import ENDS_WITH_US, wait_until
from tests.stack import HOST, Stack, running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.serial]

SELECTOR = f'kernel_all_pswitch{{hostname="{HOST}"}}'
THREADS = (
    "PREFIX st: <https://w3id.org/supertwin/ns#> "
    "SELECT ?t WHERE { ?t a st:HardwareThread }"
)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Start a stack to damage, separate from that of the other tests."""
    with running_stack(tmp_path_factory.mktemp("hurt")) as stack:
        wait_until(lambda: bool(recent(stack)), what="first points")
        yield stack


def recent(stack: Stack) -> set[int]:
    now = time.time()
    return stack.seconds(SELECTOR, now - 30, now)


def kill(stack: Stack, name: str) -> int:
    """kill -9 a child, wait until its successor is healthy, and return the old pid."""
    pid = int(stack.children()[name]["pid"])
    os.kill(pid, signal.SIGKILL)

    def back() -> bool:
        child = stack.children()[name]
        return child["pid"] not in (None, pid) and child["state"] == "healthy"

    wait_until(back, what=f"{name} back")
    return pid


@pytest.fixture
def heartbeat(tmp_path: Path) -> Iterator[Heartbeat]:
    """Record at which seconds the machine was held up."""
    with Heartbeat(tmp_path / "heartbeat") as control:
        yield control


def missing(stack: Stack, heartbeat: Heartbeat, start: int, end: int) -> list[int]:
    """Return missing ticks (ms) of [start, end], except if the machine was held up."""
    wanted = set(range(start, end + 1))

    def complete() -> bool:
        return wanted <= stack.seconds(SELECTOR, start, end)

    deadline = time.monotonic() + 20
    while not complete() and time.monotonic() < deadline:
        time.sleep(0.5)
    there = {1000 * second for second in stack.seconds(SELECTOR, start, end)}
    return heartbeat.lost((1000 * second for second in wanted), there, 1000)


@pytest.mark.parametrize("name", ["fuseki", "victoria-metrics"])
def test_killed_store_loses_no_second(
    stack: Stack, heartbeat: Heartbeat, name: str
) -> None:
    start = int(time.time())
    time.sleep(2)
    kill(stack, name)
    time.sleep(3)
    assert missing(stack, heartbeat, start + 1, int(time.time()) - 2) == []
    wait_until(lambda: len(stack.sparql(THREADS)) > 0, what="the twin")


def test_killed_bridge_loses_no_second_before_its_kill(
    stack: Stack, heartbeat: Heartbeat
) -> None:
    start = int(time.time())
    time.sleep(3)
    killed = int(time.time())
    kill(stack, "bridge")
    # the bridge may lose the current second
    assert missing(stack, heartbeat, start + 1, killed - 1) == []
    again = int(time.time()) + 2
    time.sleep(5)
    assert missing(stack, heartbeat, again, again + 1) == []


@dataclass
class Restart:
    """The state before, between and after a `down` and an `up`."""

    pids: list[int]
    threads: list[list[str]]
    until: int
    alive: list[int] = field(default_factory=list)
    bystander_lives: bool = False
    down_again: str = ""
    status: int = 0
    seconds: float = 0.0


@pytest.fixture(scope="module")
def restart(stack: Stack) -> Restart:
    """Take the stack down next to an unrelated process, and up again."""
    pids = [child["pid"] for child in stack.children().values() if child["pid"]]
    seen = Restart(pids, sorted(stack.sparql(THREADS)), max(recent(stack)))
    with subprocess.Popen([*ENDS_WITH_US, "sleep", "600"]) as bystander:
        down = time.time()
        stack.run("down")
        seen.alive = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        seen.bystander_lives = bystander.poll() is None
        seen.down_again = stack.run("down").stdout
        seen.status = stack.run("status", check=False).returncode
        bystander.kill()
    stack.run("up")
    seen.seconds = time.time() - down
    return seen


def test_down_stops_what_up_started_and_nothing_else(restart: Restart) -> None:
    assert len(restart.pids) >= 4
    assert not restart.alive
    assert restart.bystander_lives
    assert "nothing" in restart.down_again.lower()
    assert restart.status == 1


def test_twin_and_series_survive_a_restart(stack: Stack, restart: Restart) -> None:
    assert sorted(stack.sparql(THREADS)) == restart.threads
    until = restart.until
    wait_until(
        lambda: stack.seconds(SELECTOR, until, until) == {until}, what="the old points"
    )


def test_up_reports_the_time_without_a_bridge(stack: Stack, restart: Restart) -> None:
    away = stack.bridge()["uncounted"]
    assert away["reason"] == "the bridge was stopped"
    assert 0 < away["seconds"] < restart.seconds
    assert "nothing was counted for" in stack.status()
