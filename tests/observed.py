"""`supertwin observe` as the tests run it, and what the graph then says of a run."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

import httpx

from supertwin.access.tokens import Role, add_token
from tests.servers import ENDS_WITH_US, ROOT, wait_until
from tests.stack import HOST, Stack

_RUN = re.compile(r"supertwin: ([a-z ]+) after ([\d.]+) s: (\S+)")


@contextmanager
def operator(stack: Stack, name: str) -> Iterator[httpx.Client]:
    """A client of the API with an operator's token of this name."""
    token = add_token(stack.home, name, Role.OPERATOR, None)
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(
        base_url=stack.api, headers=headers, timeout=120, trust_env=False
    ) as client:
        yield client


def runs(said: str) -> list[tuple[str, str]]:
    """How each run ended, and its IRI, as it was told on standard error."""
    return [(found[1], found[3]) for found in _RUN.finditer(said)]


def asked(stack: Stack, pattern: str) -> list[Mapping[str, Any]]:
    """What matches a pattern of the graph."""
    query = f"PREFIX st: <https://w3id.org/supertwin/ns#> SELECT * {{ {pattern} }}"
    answer = httpx.post(
        f"{stack.api}/sparql",
        data={"query": query},
        headers={"Accept": "application/sparql-results+json"},
    )
    return [
        {name: term["value"] for name, term in row.items()}
        for row in answer.raise_for_status().json()["results"]["bindings"]
    ]


def outcome(stack: Stack, iri: str) -> str:
    """How a run ended, once it is recorded."""
    pattern = f"<{iri}> st:outcome ?how"
    wait_until(lambda: asked(stack, pattern), what=f"{iri} is recorded")
    return str(asked(stack, pattern)[0]["how"])


def plans(stack: Stack) -> set[str]:
    """The plans of this host, by name."""
    found = stack.get("/plans", "application/json", host=HOST).json()
    return {plan["plan"] for plan in found}


def statistics(stack: Stack, iri: str) -> list[dict[str, Any]]:
    """The figures of a run's series."""
    words = ("query", "observations/statistics", "--id", iri, "--format", "json")
    found: list[dict[str, Any]] = json.loads(stack.run(*words).stdout)
    return found


@contextmanager
def observing(
    stack: Stack,
    *words: str,
    env: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
) -> Iterator[subprocess.Popen[str]]:
    """`supertwin observe WORDS` while it runs; killed at the end if it still does."""
    process = subprocess.Popen(
        [*ENDS_WITH_US, sys.executable, "-m", "supertwin", "observe", *words],
        cwd=ROOT,
        env=dict(env or stack.env),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str], word: str) -> None:
    """Wait until a line of this word comes from the command."""
    assert process.stdout
    for line in process.stdout:
        if line.strip() == word:
            return
    assert process.stderr
    raise AssertionError(f"{word} was never printed: {process.stderr.read()}")


def kill_api(stack: Stack, number: int = signal.SIGKILL) -> None:
    """End the API by a signal, and wait for the next one."""
    pid = int(stack.children()["api"]["pid"])
    os.kill(pid, number)

    def back() -> bool:
        child = stack.children()["api"]
        return child["pid"] not in (None, pid) and child["state"] == "healthy"

    wait_until(back, what="the API is back")
