"""A complete SuperTwin with free ports and a state folder, stopped at the end."""

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
from tests.servers import wait_until

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
        """Fuseki's address, with the account that the supervisor created."""
        return address_within(self.home, "fuseki", self.env["SUPERTWIN_FUSEKI_PORT"])

    @property
    def store(self) -> str:
        """VictoriaMetrics' address, with the account that the supervisor created."""
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
        """Return what `supertwin status` prints; it may exit 1 if a tick was lost."""
        done = self.run("status", *options, check=False)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    def get(self, path: str, accept: str = "*/*", **params: Any) -> httpx.Response:
        return httpx.get(
            f"{self.api}{path}", headers={"Accept": accept}, params=params, timeout=120
        )

    def sparql(self, query: str) -> list[list[str]]:
        """Return the rows of a SELECT through the API, as text."""
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
        """Change the graph directly, without the API."""
        url = f"{self.fuseki}/twin/update"
        httpx.post(url, data={"update": text}, timeout=120).raise_for_status()

    def children(self) -> dict[str, dict[str, Any]]:
        """Return the supervisor's report on its children, by name."""
        found: dict[str, dict[str, Any]] = json.loads(
            (self.home / "stack.json").read_text()
        )["children"]
        return found

    def bridge(self, host: str = HOST) -> dict[str, Any]:
        """Return the bridge's report on a host."""
        path = self.home / "bridge" / "hosts" / host / "status.json"
        # The bridge writes it every two seconds.
        wait_until(path.exists, what=f"the status of {host}")
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    def seconds(self, selector: str, start: float, end: float) -> set[int]:
        """Return the whole seconds of [start, end] with a raw point of a series."""
        answer = httpx.get(
            f"{self.store}/api/v1/export",
            params={"match[]": selector, "start": start, "end": end + 0.999},
            timeout=120,
        )
        lines = [json.loads(line) for line in answer.text.splitlines()]
        return {ms // 1000 for line in lines for ms in line["timestamps"]}


def address_within(home: Path, service: str, port: str) -> str:
    """Return the address of a server of a stack, with its account."""
    password = (home / service / "password").read_text().strip()
    return f"http://supertwin:{password}@127.0.0.1:{port}"


def environment(home: Path, host: str = HOST) -> dict[str, str]:
    """Return the environment of a new stack."""
    api, fuseki, store, pmcd = free_ports(4)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("SUPERTWIN_")}
    return {
        **inherited,
        "SUPERTWIN_HOME": str(home),
        "SUPERTWIN_HOST": host,
        # A compaction restarts Fuseki if a reader holds the old files.
        "SUPERTWIN_COMPACT_EVERY": "86400",
        "SUPERTWIN_QUERY_TIMEOUT": "120",
        "SUPERTWIN_BASE": f"http://127.0.0.1:{api}",
        # A killed test run leaves no stack behind.
        "SUPERTWIN_OWNER_PID": str(os.getpid()),
        "SUPERTWIN_API_PORT": str(api),
        "SUPERTWIN_FUSEKI_PORT": str(fuseki),
        "SUPERTWIN_STORE_PORT": str(store),
        "SUPERTWIN_PMCD": "own",
        # Tests launch commands by token.
        "SUPERTWIN_RUN_AS": getpass.getuser(),
        "SUPERTWIN_PMCD_PORT": str(pmcd),
        # Tests that connect to another machine write this file.
        "SUPERTWIN_SSH_CONFIG": str(home / "ssh_config"),
    }


@contextmanager
def running_stack(home: Path) -> Iterator[Stack]:
    """Run `supertwin up` in a folder, and `supertwin down` at the end."""
    stack = Stack(home, environment(home))
    stack.printed = stack.run("up").stdout
    try:
        yield stack
    finally:
        stack.run("down")
