"""The API as a process."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from api.access.tokens import TokenError, TokenRole, add_token, revoke_token
from core.stores.scope import Scope
from tests.ports import LOOPBACK, free_port
from tests.servers import ROOT, Server, answers

EVERYTHING = Scope()


class Api(Server):
    """``python -m api`` with these settings (lower case)."""

    def __init__(self, folder: Path, **settings: str) -> None:
        super().__init__(folder)
        port = free_port()
        self.url = f"http://{LOOPBACK}:{port}"
        self.env = {f"SUPERTWIN_{name.upper()}": v for name, v in settings.items()}
        self.env["SUPERTWIN_API_PORT"] = str(port)

    def start(self) -> None:
        command = [sys.executable, "-W", "error", "-m", "api"]
        self.launch(command, cwd=ROOT, **self.env)
        self.ready(lambda: answers(f"{self.url}/context.jsonld"))

    def clean(self) -> None:
        """End the process in order: a killed process writes no coverage."""
        if self._process and self.ended() is None:
            with suppress(subprocess.TimeoutExpired):
                self.end()
        super().clean()


def bearer(token: str) -> dict[str, str]:
    """Return the header that carries a token."""
    return {"Authorization": f"Bearer {token}"}


def code_of(answer: httpx.Response) -> str:
    """Return the code of a problem document."""
    return str(answer.json()["type"]).rpartition("/")[2]


@dataclass(frozen=True)
class Closed:
    """The address and state folder of an API, with a client."""

    url: str
    home: Path
    client: httpx.Client

    def add(
        self,
        name: str,
        role: TokenRole,
        expires: int | None = None,
        scope: Scope = EVERYTHING,
    ) -> str:
        """Add a token, replacing one of that name."""
        self.revoke(name)
        return add_token(self.home, name, role, expires, scope)

    def revoke(self, name: str) -> None:
        """Revoke a token if it exists."""
        with suppress(TokenError):
            revoke_token(self.home, name)

    def get(self, path: str = "/queries", token: str = "") -> httpx.Response:
        """Get a path, with a token if one is given."""
        shown = bearer(token) if token else {}
        return self.client.get(self.url + path, headers=shown)


@contextmanager
def own_api(
    home: Path, base: str, fuseki: str, store: str, **settings: str
) -> Iterator[Closed]:
    """Start an API with its own state folder and stores that others may share."""
    stores = {"fuseki_url": fuseki, "store_read_url": store}
    folder = {"base": base, "host": "n1", "home": str(home)}
    with (
        Api(home / "api", **folder, **stores, **settings) as server,
        httpx.Client(timeout=120, trust_env=False) as client,
    ):
        yield Closed(server.url, home, client)


def write_duty(store: str, host: str, metric: str, duty: str, age: float = 0) -> None:
    """Write a value of a hardware counter, and the share of time that it counted."""
    now = int((time.time() - age) * 1000)
    lines = "".join(
        f'{metric}_{part}{{hostname="{host}",instname="cpu0"}} {value} {now}\n'
        for part, value in (("value", "9"), ("dutycycle", duty))
    )
    url = f"{store}/api/v1/import/prometheus"
    httpx.post(url, content=lines).raise_for_status()
    httpx.get(f"{store}/internal/force_flush").raise_for_status()
