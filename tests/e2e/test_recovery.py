"""kill -9 of each service: it is back by itself, and nothing monitored is lost."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import wait_until
from tests.stack import HOST, Stack, running_stack

pytestmark = pytest.mark.e2e

SELECTOR = f'kernel_all_pswitch{{hostname="{HOST}"}}'
THREADS = (
    "PREFIX st: <https://w3id.org/supertwin/ns#> "
    "SELECT ?t WHERE { ?t a st:HardwareThread }"
)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack to be hurt: not the one of the other tests."""
    with running_stack(tmp_path_factory.mktemp("hurt")) as stack:
        wait_until(lambda: bool(recent(stack)), 30, "first points")
        yield stack


def recent(stack: Stack) -> set[int]:
    now = time.time()
    return stack.seconds(SELECTOR, now - 30, now)


def kill(stack: Stack, name: str) -> int:
    """kill -9 one child and wait until its successor is healthy; its old pid."""
    pid = int(stack.children()[name]["pid"])
    os.kill(pid, signal.SIGKILL)

    def back() -> bool:
        child = stack.children()[name]
        return child["pid"] not in (None, pid) and child["state"] == "healthy"

    wait_until(back, 60, f"{name} back")
    return pid


def missing(stack: Stack, start: int, end: int) -> set[int]:
    """Seconds of [start, end] without a point once the bridge has caught up."""
    wanted = set(range(start, end + 1))

    def complete() -> bool:
        return wanted <= stack.seconds(SELECTOR, start, end)

    deadline = time.monotonic() + 20
    while not complete() and time.monotonic() < deadline:
        time.sleep(0.5)
    return wanted - stack.seconds(SELECTOR, start, end)


@pytest.mark.parametrize("name", ["fuseki", "victoria-metrics"])
def test_no_second_is_lost_when_a_store_is_killed(stack: Stack, name: str) -> None:
    start = int(time.time())
    time.sleep(4)
    kill(stack, name)
    time.sleep(3)
    assert missing(stack, start + 1, int(time.time()) - 2) == set()
    wait_until(lambda: len(stack.sparql(THREADS)) > 0, 30, "the twin")


def test_the_bridge_loses_no_second_up_to_its_kill(stack: Stack) -> None:
    start = int(time.time())
    time.sleep(4)
    killed = int(time.time())
    kill(stack, "bridge")
    # the running second is the bridge's to lose
    assert missing(stack, start + 1, killed - 1) == set()
    again = int(time.time()) + 2
    time.sleep(5)
    assert missing(stack, again, again + 1) == set()


@pytest.fixture
def bystander() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that has nothing to do with the stack."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def test_down_stops_what_up_started_and_nothing_else(
    tmp_path: Path, bystander: "subprocess.Popen[bytes]"
) -> None:
    with running_stack(tmp_path) as stack:
        pids = [child["pid"] for child in stack.children().values() if child["pid"]]
        assert len(pids) >= 4
        stack.run("down")
        assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        assert bystander.poll() is None
        assert "nothing" in stack.run("down").stdout.lower()
        assert stack.run("status", check=False).returncode == 1


def test_the_twin_and_the_series_outlive_a_restart(tmp_path: Path) -> None:
    with running_stack(tmp_path) as stack:
        wait_until(lambda: bool(recent(stack)), 30, "first points")
        until = int(time.time())
        before = sorted(stack.sparql(THREADS))
        time.sleep(2)
        stack.run("down")
        stack.run("up")
        assert sorted(stack.sparql(THREADS)) == before
        wait_until(
            lambda: stack.seconds(SELECTOR, until, until) == {until},
            20,
            "the old points",
        )
