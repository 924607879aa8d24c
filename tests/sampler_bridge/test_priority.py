"""The scheduling priority of the bridge and of what it and the supervisor start."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.linux.priority import FETCHING, OTHERS, REALTIME, attainable, priority_of
from supertwin.stack.priority import raised
from tests.sampler_bridge.servers import NOWHERE, BridgeProcess
from tests.servers import ROOT, Pmcd

# Simulates an unprivileged user: CAP_SYS_NICE is dropped, and the limits are set.
TAKE = """
import subprocess, sys
from core.linux.priority import attainable, priority_of, take
print(take(sys.argv[1]), priority_of(), flush=True)
print(attainable("normal"), flush=True)
code = "from core.linux.priority import *; print(priority_of())"
subprocess.run([sys.executable, "-c", code])
"""
UNPRIVILEGED = ("setpriv", "--inh-caps=-sys_nice", "--bounding-set=-sys_nice")

# Three threads fetch 300 times while a fourth one computes, on two CPUs.
FETCH = """
import os, sys, time
from threading import Thread
from core.linux.priority import FETCHING, OTHERS, REALTIME, take
from sampler_bridge.fleet import QUICK_SWITCH_SECONDS

def fetch():
    take(REALTIME, FETCHING)
    for _ in range(300):
        time.sleep(0.001)

os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
sys.setswitchinterval(QUICK_SWITCH_SECONDS)
threads = [Thread(target=fetch) for _ in range(3)]
for thread in threads:
    thread.start()
take(REALTIME, OTHERS)
while any(thread.is_alive() for thread in threads):
    pass
"""

needs_root = pytest.mark.skipif(
    attainable(REALTIME) != REALTIME, reason="this user may not take SCHED_FIFO"
)


def levels(pid: int) -> set[int]:
    """The real-time levels of a process's threads; 0 is a normal thread."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return {os.sched_getparam(int(task.name)).sched_priority for task in tasks}


@needs_root
def test_bridge_fetches_ahead_of_its_other_threads(
    pmcd: Pmcd, new_bridge: Callable[..., BridgeProcess]
) -> None:
    bridge = new_bridge(pmcd.address, NOWHERE, priority="realtime")
    bridge.sample(["kernel.all.pswitch"], 0.1)
    bridge.wait_for(lambda status: status["expected"] > 5)
    assert priority_of(bridge.pid) == REALTIME
    assert {OTHERS, FETCHING} <= levels(bridge.pid) <= {0, OTHERS, FETCHING}
    assert bridge.end() == 0


@needs_root
@pytest.mark.serial
def test_fetching_threads_let_the_thread_with_the_gil_run() -> None:
    """It takes 0.4 s, but 65 s if each thread asks for the GIL every 10 us."""
    command = [sys.executable, "-c", FETCH]
    subprocess.run(command, cwd=ROOT, check=True, timeout=20)


def test_bridge_keeps_normal_priority_on_request(
    pmcd: Pmcd, new_bridge: Callable[..., BridgeProcess]
) -> None:
    bridge = new_bridge(pmcd.address, NOWHERE, priority="normal")
    bridge.sample(["kernel.all.pswitch"], 0.1)
    bridge.wait_for(lambda status: status["expected"] > 5)
    assert (priority_of(bridge.pid), levels(bridge.pid)) == ("normal", {0})
    assert bridge.end() == 0


@pytest.mark.parametrize(
    ("before", "wanted", "got"),
    [
        pytest.param((), "realtime", "realtime", marks=needs_root),
        pytest.param((), "nice", "nice", marks=needs_root),
        ((), "normal", "normal"),
        (UNPRIVILEGED, "realtime", "normal"),
    ],
)
def test_priority_is_the_best_allowed_and_not_inherited(
    before: tuple[str, ...], wanted: str, got: str
) -> None:
    done = subprocess.run(
        [*before, sys.executable, "-c", TAKE, wanted],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [f"{got} {got}", "normal", "normal"], done.stderr


@pytest.mark.parametrize("wanted", ["realtime", "nice", "normal"])
def test_agents_have_the_priority_of_their_pmcd(wanted: str) -> None:
    code = "from core.linux.priority import *; print(priority_of())"
    # The shell plays PMCD, and Python an agent that PMCD starts.
    shell = ("sh", "-c", f'{sys.executable} -c "{code}"; true')
    done = subprocess.run(
        raised(shell, wanted), cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == attainable(wanted)
