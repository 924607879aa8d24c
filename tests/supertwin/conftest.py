import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run
from tests.isolation import env, no_settings_from_outside
from tests.servers import ROOT, wait_until
from tests.stack import address_within, environment

__all__ = ["env", "no_settings_from_outside"]

SERVERS_ONLY = Path(__file__).with_name("servers_only.py")


@dataclass
class Servers:
    """A supervisor that runs Fuseki, VictoriaMetrics and PMCD."""

    env: dict[str, str]
    process: subprocess.Popen[bytes]

    @property
    def home(self) -> Path:
        return Path(self.env["SUPERTWIN_HOME"])

    @property
    def state(self) -> dict[str, Any]:
        path = self.home / "stack.json"
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found

    def child(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.state["children"][name]
        return found

    def url(self, service: str) -> str:
        return f"http://127.0.0.1:{self.env[f'SUPERTWIN_{service}_PORT']}"

    @property
    def fuseki(self) -> str:
        """Fuseki's address, with the account that the supervisor created."""
        return address_within(self.home, "fuseki", self.env["SUPERTWIN_FUSEKI_PORT"])

    @property
    def store(self) -> str:
        """VictoriaMetrics' address, with the account that the supervisor created."""
        return address_within(self.home, "store", self.env["SUPERTWIN_STORE_PORT"])

    def is_running(self) -> bool:
        return self.state.get("phase") == "running"

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return run(self.env, *words)


@contextmanager
def running_servers(home: Path, **settings: str) -> Iterator[Servers]:
    env = environment(home) | settings
    process = subprocess.Popen([sys.executable, str(SERVERS_ONLY)], cwd=ROOT, env=env)
    servers = Servers(env, process)
    try:
        wait_until(servers.is_running, 90, "the servers")
        yield servers
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with running_servers(tmp_path_factory.mktemp("servers")) as servers:
        yield servers


def processes_of(home: Path) -> list[int]:
    """Return processes with the folder in their command line or environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                text = (folder / "cmdline").read_bytes()
                text += (folder / "environ").read_bytes()
            except OSError:
                continue
            if os.fsencode(home) in text:
                found.append(int(folder.name))
    return found
