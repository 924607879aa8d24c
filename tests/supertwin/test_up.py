"""`supertwin up` when it fails or is interrupted: nothing stays half up."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from supertwin import lock
from tests.servers import wait_until
from tests.stack import ROOT
from tests.supertwin.conftest import processes_of, run


def nothing_left(env: dict[str, str]) -> None:
    home = Path(env["SUPERTWIN_HOME"])
    assert lock.holder(home) is None
    wait_until(lambda: not processes_of(home), 5, "nothing left")
    assert run(env, "down").stdout == "nothing is running\n"


def test_a_child_that_cannot_start_stops_the_stack(env: dict[str, str]) -> None:
    done = run(env | {"SUPERTWIN_FUSEKI_HEAP": "1m"}, "up")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "fuseki ended with status 1: Too small maximum heap" in last
    assert "Traceback" not in done.stderr
    nothing_left(env)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_up_stops_the_stack(
    env: dict[str, str], number: signal.Signals
) -> None:
    up = subprocess.Popen(
        [sys.executable, "-m", "supertwin", "up"],
        cwd=ROOT,
        env=env,
        stderr=subprocess.PIPE,
        text=True,
    )
    home = Path(env["SUPERTWIN_HOME"])
    wait_until(lambda: lock.holder(home) is not None, 20, "a supervisor")
    up.send_signal(number)
    _, said = up.communicate(timeout=60)
    assert up.returncode == 130
    assert said.splitlines()[-1] == "supertwin: interrupted"
    nothing_left(env)


def test_a_home_in_use_is_not_taken_twice(env: dict[str, str]) -> None:
    """Two at once: one supervisor, and the second is told what differs."""
    home = Path(env["SUPERTWIN_HOME"])
    home.mkdir()
    words = [sys.executable, str(Path(__file__).with_name("servers_only.py"))]
    servers = subprocess.Popen(words, cwd=ROOT, env=env)
    wait_until(lambda: (home / "stack.json").exists(), 20, "a supervisor")
    second = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, check=False)
    assert second.returncode == 1
    done = run(env | {"SUPERTWIN_RETENTION": "1y"}, "up")
    assert done.returncode == 2
    assert "SUPERTWIN_RETENTION" in done.stderr
    assert "make down" in done.stderr
    assert lock.holder(home) == servers.pid
    assert run(env, "down").returncode == 0
    assert servers.wait(30) == 0
