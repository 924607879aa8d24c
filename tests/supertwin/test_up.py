"""A failed or interrupted `supertwin up` leaves nothing half started."""

import signal
import subprocess
import sys
import threading
from pathlib import Path
from subprocess import PIPE

import pytest

from core.linux import lock
from tests.command_line import run
from tests.servers import ROOT, wait_until
from tests.supertwin.conftest import processes_of


def nothing_left(env: dict[str, str]) -> None:
    home = Path(env["SUPERTWIN_HOME"])
    assert lock.holder(home) is None
    wait_until(lambda: not processes_of(home), what="nothing left")
    assert run(env, "down").stdout == "nothing is running\n"


def test_child_that_cannot_start_stops_the_stack(env: dict[str, str]) -> None:
    done = run(env | {"SUPERTWIN_FUSEKI_HEAP": "1m"}, "up")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "fuseki ended with status 1: Too small maximum heap" in last
    assert "Traceback" not in done.stderr
    nothing_left(env)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_up_stops_the_stack(
    env: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    log, home = tmp_path / "stderr", Path(env["SUPERTWIN_HOME"])
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, "-m", "supertwin", "up"],
            cwd=ROOT,
            env=env,
            stderr=stderr,
            # Tests that run in the background inherit an ignored SIGINT.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as up,
    ):
        wait_until(lambda: lock.holder(home) is not None, what="a supervisor")
        up.send_signal(number)
        try:
            assert up.wait(300) == 130, log.read_text()
        except subprocess.TimeoutExpired:
            up.kill()
            pytest.fail(f"still running: {log.read_text()}")
    assert log.read_text().splitlines()[-1] == "supertwin: interrupted"
    nothing_left(env)


def test_concurrent_up_starts_one_stack(env: dict[str, str]) -> None:
    words = [sys.executable, "-m", "supertwin", "up"]
    both = [
        subprocess.Popen(words, cwd=ROOT, env=env, stdout=PIPE, stderr=PIPE, text=True)
        for _ in range(2)
    ]
    try:
        (out, output), (other_out, other_said) = (
            up.communicate(timeout=90) for up in both
        )
        assert [up.returncode for up in both] == [0, 0], output + other_said
        assert out == other_out
        first, second = sorted((output, other_said), key=lambda text: "waiting" in text)
        assert "waiting" not in first and "api ready in" in first
        assert second.startswith("waiting for another `up`\nwas up already, seen after")
        assert run(env, "up").stdout == out
    finally:
        assert run(env, "down").returncode == 0
    nothing_left(env)


def test_waiting_up_continues_when_the_other_has_ended(
    env: dict[str, str],
) -> None:
    home = Path(env["SUPERTWIN_HOME"])
    began = threading.Event()

    def hold() -> None:
        with lock.turn(home, began.set):
            pass

    with lock.turn(home, lambda: None):
        waiter = threading.Thread(target=hold)
        waiter.start()
        assert began.wait(120)
        assert waiter.is_alive()
    waiter.join(120)
    assert not waiter.is_alive()


def test_home_in_use_is_refused(env: dict[str, str]) -> None:
    """Of two, one supervisor runs, and `up` reports which settings differ."""
    home = Path(env["SUPERTWIN_HOME"])
    home.mkdir()
    words = [sys.executable, str(Path(__file__).with_name("servers_only.py"))]
    servers = subprocess.Popen(words, cwd=ROOT, env=env)
    wait_until(lambda: (home / "stack.json").exists(), what="a supervisor")
    second = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, check=False)
    assert second.returncode == 1
    done = run(env | {"SUPERTWIN_RETENTION": "1y"}, "up")
    assert done.returncode == 2
    assert "SUPERTWIN_RETENTION" in done.stderr
    assert "make down" in done.stderr
    assert lock.holder(home) == servers.pid
    assert run(env, "down").returncode == 0
    assert servers.wait(120) == 0
