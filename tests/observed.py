"""Run `supertwin observe` in tests, and read what the graph says of a run."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import httpx

from api.access.tokens import TokenRole, add_token
from tests.servers import ENDS_WITH_US, ROOT, wait_until
from tests.stack import HOST, Stack

_RUN = re.compile(r"supertwin: ([a-z ]+) after ([\d.]+) s: (\S+)")


@contextmanager
def operator(stack: Stack, name: str) -> Iterator[httpx.Client]:
    """Return a client of the API with an operator's token of this name."""
    token = add_token(stack.home, name, TokenRole.OPERATOR, None)
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(
        base_url=stack.api, headers=headers, timeout=120, trust_env=False
    ) as client:
        yield client


def runs(errors: str) -> list[tuple[str, str]]:
    """Return the outcome and IRI of each run, as printed on standard error."""
    return [(found[1], found[3]) for found in _RUN.finditer(errors)]


def asked(stack: Stack, pattern: str) -> list[Mapping[str, Any]]:
    """Return the matches of a graph pattern."""
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
    """Wait until a run is recorded; return its outcome."""
    pattern = f"<{iri}> st:outcome ?how"
    wait_until(lambda: asked(stack, pattern), what=f"{iri} is recorded")
    return str(asked(stack, pattern)[0]["how"])


def wait_until_closed(stack: Stack, *ids: str) -> None:
    """Wait until runs or groups are not open: just after they are recorded."""
    names = {id_.rpartition("/")[2] for id_ in ids}
    sessions = names | {name.rpartition("-")[0] for name in names}
    journal = stack.home / "observing"
    wait_until(lambda: sessions.isdisjoint(one.stem for one in journal.glob("*.json")))


def forget(stack: Stack, *ids: str) -> None:
    """Forget runs or groups once they are closed."""
    wait_until_closed(stack, *ids)
    stack.run("forget", "--yes", *ids)


def plans(stack: Stack) -> set[str]:
    """Return the names of this host's plans."""
    found = stack.get("/plans", "application/json", host=HOST).json()
    return {plan["plan"] for plan in found}


def statistics(stack: Stack, iri: str) -> list[dict[str, Any]]:
    """Return the statistics of a run's series."""
    words = ("query", "observations/statistics", "--id", iri, "--format", "json")
    found: list[dict[str, Any]] = json.loads(stack.run(*words).stdout)
    return found


def samples(stack: Stack, series: str, since_ms: int) -> list[int]:
    """Return the stored points of a series of this host since then, in ms."""
    httpx.get(f"{stack.store}/internal/force_flush", timeout=120)
    now = time.time()
    answer = httpx.get(
        f"{stack.store}/api/v1/export",
        params={
            "match[]": f'{series}{{hostname="{HOST}"}}',
            "start": f"{since_ms / 1000:.3f}",
            "end": f"{now + 5:.3f}",
        },
        timeout=120,
    )
    lines = map(json.loads, answer.raise_for_status().text.splitlines())
    return sorted(ms for line in lines for ms in line["timestamps"])


def missing_points(stack: Stack) -> int:
    """Return how many points of this host the bridge counts as missing."""
    return sum(stack.bridge()["reasons"].values())


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@contextmanager
def observing(
    stack: Stack,
    *words: str,
    env: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
) -> Iterator[subprocess.Popen[str]]:
    """Run `supertwin observe WORDS`; kill it at the end if it still runs."""
    with commanding(stack, "observe", *words, env=env, stdin=stdin) as process:
        yield process


@contextmanager
def commanding(
    stack: Stack,
    *words: str,
    env: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
) -> Iterator[subprocess.Popen[str]]:
    """Run `supertwin WORDS`; kill it at the end if it still runs."""
    process = subprocess.Popen(
        [*ENDS_WITH_US, sys.executable, "-m", "supertwin", *words],
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


def observed_until_sampled(
    stack: Stack, gate: Path, series: str, least: int, *words: str
) -> str:
    """Run `cat GATE` until a series has enough samples; return the IRI of the run.

    The gate is a named pipe: the command waits until it is closed.
    """
    os.mkfifo(gate)

    def opened() -> bool:
        nonlocal pipe
        with suppress(OSError):  # no reader yet
            pipe = os.open(gate, os.O_WRONLY | os.O_NONBLOCK)
        return pipe >= 0

    pipe = -1
    with observing(stack, *words, "--", "cat", str(gate)) as process:
        wait_until(lambda: process.poll() is not None or opened(), what="its command")
        assert pipe >= 0, process.communicate()
        began = now_ms()
        wait_until(lambda: len(samples(stack, series, began)) >= least, what="samples")
        os.close(pipe)
        _, error = process.communicate(timeout=120)
    ((how, iri),) = runs(error)
    assert how == outcome(stack, iri) == "completed"
    return iri


def wait_for_line(process: subprocess.Popen[str], word: str) -> None:
    """Wait until the command prints this word as a line."""
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


def states(stack: Stack) -> list[str]:
    """Return the states of observations that run, or ran a while ago."""
    return [one["state"] for one in stack.get("/observations/running").json()]
