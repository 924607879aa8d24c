"""A stack that has an owner ends with it, however the owner ends."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.command_line import run
from tests.servers import ROOT, wait_until
from tests.supertwin.conftest import processes_of

STACK, SERVERS = "tests.stack.running_stack", "tests.supertwin.conftest.running_servers"
_OWNER = """
import pkgutil, sys, time
from pathlib import Path
with pkgutil.resolve_name(sys.argv[1])(Path(sys.argv[2])):
    print("up", flush=True)
    time.sleep(600)
"""


@contextmanager
def owner(what: str, home: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a process that starts something, as a run of tests or benchmarks does."""
    words = [sys.executable, "-c", _OWNER, what, str(home)]
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "up\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("what", "number"), [(SERVERS, signal.SIGTERM), (STACK, signal.SIGKILL)]
)
def test_stack_ends_with_its_owner(
    tmp_path: Path, what: str, number: signal.Signals
) -> None:
    home = tmp_path / "home"
    with owner(what, home) as process:
        assert len(processes_of(home)) > 4
        process.send_signal(number)
        process.wait(120)
        wait_until(lambda: not processes_of(home), 120, "no process is left")
    assert json.loads((home / "stack.json").read_text())["phase"] == "stopped"


def test_tests_end_with_make(tmp_path: Path) -> None:
    """Only make gets SIGTERM, as from a job manager."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 600\n")
    python.chmod(0o700)
    words = ("make", "-o", "install-test", f"PYTHON={python}", "test")
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.DEVNULL) as make:
        wait_until((tmp_path / "pid").exists, what="the tests")
        wait_until(lambda: (tmp_path / "pid").read_text().endswith("\n"))
        pid = int((tmp_path / "pid").read_text())
        make.terminate()
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), what="their end")


def test_stack_of_an_ended_owner_does_not_start(env: dict[str, str]) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    done = run(env | {"SUPERTWIN_OWNER_PID": str(process.pid)}, "up")
    assert done.returncode == 1
    assert f"SUPERTWIN_OWNER_PID={process.pid}: No such process" in done.stderr
    assert not processes_of(Path(env["SUPERTWIN_HOME"]))
