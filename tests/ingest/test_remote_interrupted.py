"""Probes over ssh that are interrupted, on this side or on the other."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.ingest.test_collect import ends, slow, wait_for
from tests.servers import wait_until
from tests.sshd import Sshd

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="a network namespace and accounts of its own need root"
)


class Probing(NamedTuple):
    """A probe that waits for a tool on the remote host; ``tool`` is its pid."""

    server: Sshd
    process: subprocess.Popen[str]
    tool: int


@contextmanager
def probing(folder: Path, own_tmp: Path) -> Iterator[Probing]:
    """`supertwin probe` of a host on which one tool does not end."""
    path, pid = slow(folder)
    with Sshd(f"SetEnv PATH={path}:/usr/bin:/bin") as server:
        words = [sys.executable, "-m", "supertwin", "probe", server.url()]
        given = {"SUPERTWIN_SSH_CONFIG": str(server.config), "TMPDIR": str(own_tmp)}
        with subprocess.Popen(
            words,
            env=os.environ | given,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            yield Probing(server, process, wait_for(pid))


@pytest.fixture
def own_tmp() -> Iterator[Path]:
    """A temporary folder, with a name short enough for ssh's socket."""
    with tempfile.TemporaryDirectory(prefix="st", dir="/tmp") as folder:
        yield Path(folder)


def commands() -> str:
    """The command lines of all processes."""
    return subprocess.run(
        ["ps", "-e", "-o", "args="], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("collector", [True, False])
def test_broken_connection_leaves_nothing(
    tmp_path: Path, own_tmp: Path, collector: bool
) -> None:
    """Either the login or the collector is killed while a tool runs."""
    with probing(tmp_path, own_tmp) as (server, process, tool):
        for victim in [parent_of(tool)] if collector else server.sessions():
            os.kill(victim, 9)
        output, found = process.communicate(timeout=120)
        os.kill(tool, 9) if collector else None
        assert ends(tool)
    assert output == ""
    last = found.splitlines()[-1]
    if collector:
        assert process.returncode == 2
        assert "sent no copy of its files" in last
    else:
        assert process.returncode == 1
        assert "broke after" in last
        assert last.endswith("bytes: try again [connection-lost]")
    assert not list(own_tmp.iterdir())


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_probe_that_is_ended_leaves_nothing(
    tmp_path: Path, own_tmp: Path, number: int
) -> None:
    with probing(tmp_path, own_tmp) as (server, process, tool):
        # The second signal, of an impatient user, must not disturb the clean-up.
        for _ in range(2):
            process.send_signal(number)
            time.sleep(0.05)
        _, output = process.communicate(timeout=120)
        assert output.splitlines()[-1] == "supertwin: interrupted"
        assert_nothing_runs(server, tool)
    assert not list(own_tmp.iterdir())


def test_killed_probe_leaves_nothing_on_the_host(tmp_path: Path, own_tmp: Path) -> None:
    with probing(tmp_path, own_tmp) as (server, process, tool):
        process.kill()
        process.wait(120)
        assert_nothing_runs(server, tool)


def assert_nothing_runs(server: Sshd, tool: int) -> None:
    """Neither the remote tool and its collector nor the local ssh."""
    assert ends(tool)
    wait_until(lambda: not server.processes())
    assert str(server.config) not in commands()
