"""A command or PMCD ends while this machine's agent starts to count."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sampling.agents.configuration import kept_configuration
from sampling.agents.private_pmcd import socket_of
from sampling.events.live import has_agent
from tests.servers import ROOT, wait_until
from tests.stack import Stack

pytestmark = pytest.mark.e2e
WORDS = ("sample", "add", "--event", "msr::tsc", "--period", "1s", "--plan", "ended")


def command(stack: Stack) -> subprocess.Popen[str]:
    """Start the command that adds the plan."""
    return subprocess.Popen(
        [sys.executable, "-m", "supertwin", *WORDS],
        cwd=ROOT,
        env=stack.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupted(stack: Stack, number: int, home: Path) -> int:
    """Send a signal while the agent starts to count; return the exit status."""
    before = kept_configuration(home, "perfevent")
    with command(stack) as process:
        while (
            kept_configuration(home, "perfevent") == before and process.poll() is None
        ):
            time.sleep(0.001)
        process.send_signal(number)
        _, output = process.communicate(timeout=120)
    assert process.returncode in (0, 130), output
    return process.returncode


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_interrupted_add_keeps_the_configuration(stack: Stack, number: int) -> None:
    home = stack.home / "pmu"
    before = kept_configuration(home, "perfevent")
    # A signal that arrives after the plan was added is too late: try again.
    while interrupted(stack, number, home) == 0:
        stack.run("sample", "remove", "ended")
        wait_until(lambda: kept_configuration(home, "perfevent") == before)
    assert kept_configuration(home, "perfevent") == before
    wait_until(lambda: not has_agent(f"unix://{socket_of(home)}"), what="its end")
    plans = json.loads(stack.run("sample", "list", "--format", "json").stdout)
    assert "ended" not in {row["plan"] for row in plans}


def test_restart_of_pmcd_in_the_meantime_is_reported(stack: Stack) -> None:
    """PMCD restarts while the command waits for another command."""

    def pid() -> int | None:
        child = stack.children()["pmu"]
        return child["pid"] if child["state"] == "healthy" else None

    turns = stack.home / "turns"
    turns.mkdir(exist_ok=True)
    wait_until(pid, what="PMCD")
    with (turns / "perfevent.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with command(stack) as process:
            assert process.stderr
            while "waiting until it is done" not in process.stderr.readline():
                assert process.poll() is None
            old = pid()
            assert old
            os.kill(old, signal.SIGKILL)
            wait_until(lambda: pid() not in (None, old), what="another PMCD")
            fcntl.flock(lock, fcntl.LOCK_UN)
            _, output = process.communicate(timeout=120)
    assert process.returncode == 0, output
    stack.run("sample", "remove", "ended")
