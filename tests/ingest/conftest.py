"""A PMCD of the tests' own."""

import getpass
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PMCD = "/usr/lib/pcp/bin/pmcd"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture(scope="session")
def pmcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running PMCD."""
    # Unix sockets allow 108 characters, which pytest's folders may exceed.
    home = tmp_path_factory.mktemp("p")
    for name in ("run", "tmp", "log"):
        (home / name).mkdir()
    path = home / "run/pmcd.socket"
    folders = {f"PCP_{d.upper()}_DIR": str(home / d) for d in ("run", "tmp", "log")}
    command = ["setpriv", "--pdeathsig", "TERM", PMCD, "-f", "-A", "-i", "127.0.0.1"]
    command += ["-p", str(_free_port()), "-s", str(path)]
    command += ["-l", str(home / "log/pmcd.log"), "-U", getpass.getuser()]
    process = subprocess.Popen(command, env={**os.environ, **folders}, cwd=home)
    try:
        _wait(path, process)
        yield f"unix://{path}"
    finally:
        process.terminate()
        process.wait(10)


def _wait(path: Path, process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        assert process.poll() is None, "PMCD ended at its start"
        with socket.socket(socket.AF_UNIX) as client:
            if client.connect_ex(str(path)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("PMCD does not answer within 10 s")
