"""The services of docker-compose.yml as processes of this machine.

Commands, variables and health checks come from the file; instead of a container's own
folders, names and ports, a process gets a folder or a free port.
"""

import json
import os
import subprocess
import sys
from base64 import b64decode
from pathlib import Path

from tests.deployment import compose
from tests.ports import LOOPBACK, free_ports
from tests.servers import Server, wait_until

_NAMES = {"fuseki": 3030, "victoria-metrics": 8428, "api": 8000}
_PORT_SETTINGS = {
    "fuseki": "SUPERTWIN_FUSEKI_PORT",
    "victoria-metrics": "SUPERTWIN_STORE_PORT",
    "api": "SUPERTWIN_API_PORT",
}


class Place:
    """What the containers share: volumes, secrets, addresses, the host's PMCD."""

    def __init__(self, folder: Path, pmcd_socket: Path) -> None:
        self.home = folder / "home"
        self.deploy = folder / "deploy"
        compose.copy_deploy(self.deploy)
        subprocess.run([self.deploy / "make-secrets"], check=True)
        self.ports = dict(zip(_NAMES, free_ports(len(_NAMES)), strict=True))
        self._moved = {
            "/var/lib/supertwin": str(self.home),
            "/run/secrets": str(self.deploy / "secrets"),
            "/run/pcp/pmcd.socket": str(pmcd_socket),
        }
        for name, port in _NAMES.items():
            for host in (name, LOOPBACK):
                self._moved[f"http://{host}:{port}"] = self.url(name)

    def url(self, service: str) -> str:
        return f"http://{LOOPBACK}:{self.ports[service]}"

    def moved(self, text: str) -> str:
        """A text of the file, with the paths and addresses of this machine."""
        for inside, here in self._moved.items():
            text = text.replace(inside, here)
        return text

    @property
    def reader(self) -> tuple[str, str]:
        """The account that Grafana's plugin sends."""
        encoded = (self.deploy / "secrets" / "reader_credentials").read_text()
        user, _, password = b64decode(encoded).decode().partition(":")
        return user, password

    @property
    def store_account(self) -> tuple[str, str]:
        """The account that Grafana's provisioning sends to the store."""
        password = (self.deploy / "secrets" / "store_password").read_text().strip()
        return "supertwin", password


class Container(Server):
    """One service, started by its own command and checked by its own health check."""

    def __init__(self, place: Place, name: str) -> None:
        super().__init__(place.home.parent / "log" / name)
        self.service = compose.services()[name]
        self.command = _words(self.service, place)
        given = compose.environment(self.service)
        self.env = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "SUPERTWIN_HOME": str(place.home),
            **{name: place.moved(value) for name, value in given.items()},
        }
        if name in _PORT_SETTINGS:
            self.env[_PORT_SETTINGS[name]] = str(place.ports[name])
        self._check = self.service.get("healthcheck", {}).get("test", [])
        self._place = place

    def start(self) -> None:
        self.launch(["env", "-i", *_assigned(self.env), *self.command])
        self.ready(self.is_well, 90)

    def is_well(self) -> bool:
        """Whether the health check of the file succeeds."""
        kind, *words = [self._place.moved(word) for word in self._check]
        command = ["sh", "-c", *words] if kind == "CMD-SHELL" else words
        return (
            subprocess.run(command, env=self.env, capture_output=True).returncode == 0
        )

    def run(self) -> str:
        """Run it to its end, as `docker compose run` does; return its output."""
        try:
            self.launch(["env", "-i", *_assigned(self.env), *self.command])
            wait_until(lambda: self.ended() is not None, 120, " ".join(self.command))
            assert self.ended() == 0, self.output()
        finally:
            self.clean()
        return self.output()


def _words(service: dict[str, object], place: Place) -> list[str]:
    entry = service.get("entrypoint", ["supertwin"])
    command = service["command"]
    assert isinstance(entry, list) and isinstance(command, list)
    return [place.moved(word) for word in (*entry, *command)]


def _assigned(env: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in env.items()]


def bridge_status(place: Place) -> dict[str, object]:
    """The bridge's status of its own host."""
    found: dict[str, object] = {}
    for path in place.home.glob("bridge/hosts/*/status.json"):
        found = json.loads(path.read_text())
    return found
