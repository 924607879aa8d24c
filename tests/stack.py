"""A whole SuperTwin of its own: free ports, a state folder, stopped at the end."""

import getpass
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.command_line import run
from tests.ports import free_ports

HOST = "twin-under-test"


@dataclass
class Stack:
    """The running services, as a user sees them."""

    home: Path
    env: dict[str, str]
    printed: str = ""

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.env['SUPERTWIN_API_PORT']}"

    @property
    def fuseki(self) -> str:
        """Fuseki's address, with the account that the supervisor made."""
        return address_within(self.home, "fuseki", self.env["SUPERTWIN_FUSEKI_PORT"])

    @property
    def store(self) -> str:
        """VictoriaMetrics' address, with the account that the supervisor made."""
        return address_within(self.home, "store", self.env["SUPERTWIN_STORE_PORT"])

    @property
    def base(self) -> str:
        return self.env["SUPERTWIN_BASE"]

    def run(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run `supertwin WORDS` against this stack."""
        done = run(self.env, *words)
        assert not check or done.returncode == 0, f"{words}: {done}"
        return done

    def status(self, *options: str) -> str:
        """What `supertwin status` prints: 1 where a busy machine has cost a tick."""
        done = self.run("status", *options, check=False)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    def get(self, path: str, accept: str = "*/*", **params: Any) -> httpx.Response:
        return httpx.get(
            f"{self.api}{path}", headers={"Accept": accept}, params=params, timeout=120
        )

    def sparql(self, query: str) -> list[list[str]]:
        """Rows of a SELECT through the API, as text."""
        answer = httpx.post(
            f"{self.api}/sparql",
            data={"query": query},
            headers={"Accept": "application/sparql-results+json"},
            timeout=120,
        )
        assert answer.status_code == 200, answer.text
        found = answer.json()
        names = found["head"]["vars"]
        rows = found["results"]["bindings"]
        return [[row[n]["value"] if n in row else "" for n in names] for row in rows]

    def update(self, text: str) -> None:
        """Change the graph behind everybody's back."""
        url = f"{self.fuseki}/twin/update"
        httpx.post(url, data={"update": text}, timeout=120).raise_for_status()

    def children(self) -> dict[str, dict[str, Any]]:
        """What the supervisor says of its children, by name."""
        found: dict[str, dict[str, Any]] = json.loads(
            (self.home / "stack.json").read_text()
        )["children"]
        return found

    def bridge(self, host: str = HOST) -> dict[str, Any]:
        """What the bridge says of a host."""
        path = self.home / "bridge" / "hosts" / host / "status.json"
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    def seconds(self, selector: str, start: float, end: float) -> set[int]:
        """The whole seconds of [start, end] that a series has a raw point for."""
        answer = httpx.get(
            f"{self.store}/api/v1/export",
            params={"match[]": selector, "start": start, "end": end + 0.999},
            timeout=120,
        )
        lines = [json.loads(line) for line in answer.text.splitlines()]
        return {ms // 1000 for line in lines for ms in line["timestamps"]}


def address_within(home: Path, service: str, port: str) -> str:
    """The address of a server of a stack, with its account."""
    password = (home / service / "password").read_text().strip()
    return f"http://supertwin:{password}@127.0.0.1:{port}"


def environment(home: Path, host: str = HOST) -> dict[str, str]:
    """The environment of a stack of its own."""
    api, fuseki, store, pmcd = free_ports(4)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("SUPERTWIN_")}
    return {
        **inherited,
        "SUPERTWIN_HOME": str(home),
        "SUPERTWIN_HOST": host,
        # Where a reader holds the old files, Fuseki is started again in the midst.
        "SUPERTWIN_COMPACT_EVERY": "86400",
        "SUPERTWIN_QUERY_TIMEOUT": "120",
        "SUPERTWIN_BASE": f"http://127.0.0.1:{api}",
        # A test run that is killed leaves no stack behind.
        "SUPERTWIN_OWNER_PID": str(os.getpid()),
        "SUPERTWIN_API_PORT": str(api),
        "SUPERTWIN_FUSEKI_PORT": str(fuseki),
        "SUPERTWIN_STORE_PORT": str(store),
        "SUPERTWIN_PMCD": "own",
        # Tokens of the tests launch commands.
        "SUPERTWIN_RUN_AS": getpass.getuser(),
        "SUPERTWIN_PMCD_PORT": str(pmcd),
        # Written by the tests that go to another machine.
        "SUPERTWIN_SSH_CONFIG": str(home / "ssh_config"),
    }


@contextmanager
def running_stack(home: Path) -> Iterator[Stack]:
    """`supertwin up` in a folder, `supertwin down` at the end."""
    stack = Stack(home, environment(home))
    stack.printed = stack.run("up").stdout
    try:
        yield stack
    finally:
        stack.run("down")
