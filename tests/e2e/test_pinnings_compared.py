"""Ten runs with different pinning: one query finds them, one command compares them.

docs/reference/observations.md uses likwid-bench, which needs a second per run to start.
"""

import json
import os
import re
from typing import Any

import pytest

from ontology.terms import ST
from tests.servers import wait_until
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e

_RUN = re.compile(r"supertwin: completed after [\d.]+ s: (\S+)")
_TAG = "pinnings"
# Where each runs, on how many CPUs, and how much it computes.
RUNS: list[tuple[tuple[str, ...], int, int]] = [
    (("--pin", "compact", "--threads", "1"), 1, 1000),
    (("--pin", "scatter", "--threads", "1"), 1, 1000),
    (("--pin", "compact-cores", "--threads", "1"), 1, 1000),
    (("--cpus", "0"), 1, 1000),
    (("--cpus", "1"), 1, 1000),
    (("--pin", "compact", "--threads", "2"), 2, 1000),
    (("--pin", "scatter", "--threads", "2"), 2, 1000),
    (("--cpus", "0-1"), 2, 1000),
    (("--pin", "compact", "--threads", "1"), 1, 9000),
    (("--pin", "compact", "--threads", "2"), 2, 9000),
]
_ON_1 = 4


@pytest.fixture(scope="module")
def ten(stack: Stack) -> list[str]:
    """Return the IRIs of the runs, once they are recorded."""
    found = []
    for where, _, size in RUNS:
        command = ("python3", "-S", "-c", f"sum(range({size}))")
        done = stack.run("observe", *where, "--tag", _TAG, "--", *command)
        found += _RUN.findall(done.stderr)
    for iri in found:
        kept = stack.home / "observations" / iri.rsplit("/", 1)[1] / "recorded"
        wait_until(kept.exists)
    return found


def rows(stack: Stack, name: str, *words: str) -> list[dict[str, Any]]:
    found = stack.run("query", f"observations/{name}", *words, "--format", "json")
    document: list[dict[str, Any]] = json.loads(found.stdout)
    return document


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one CPU only")
def test_pinnings_are_found_and_compared(stack: Stack, ten: list[str]) -> None:
    assert len(ten) == 10
    found = rows(stack, "runs", "--tag", _TAG)
    assert [row["run"] for row in found] == ten[::-1]
    assert {row["host"] for row in found} == {HOST}
    policies = [words[1] if words[0] == "--pin" else None for words, *_ in RUNS]
    assert [row["policy"] for row in found] == policies[::-1]
    assert [row["threads"] for row in found] == [r[1] for r in RUNS][::-1]
    scattered = rows(stack, "runs", "--tag", _TAG, "--pinned", "scatter")
    assert {row["run"] for row in scattered} == {ten[1], ten[6]}

    document = json.loads(stack.run("compare", *ten, "--json").stdout)
    assert [group["name"] for group in document["groups"]] == ten
    (duration,) = document["measures"]
    assert all(one["mean"] > 0 for one in duration["estimates"])
    assert {one["word"] for one in duration["verdicts"]} == {"undecided"}
    differs = document["differences"]
    names = {name.rpartition("#")[2] for name in differs}
    assert {"argumentVector", "pinningPolicy", "involvesThread"} <= names
    threads = differs[f"{ST}involvesThread"][_ON_1]
    assert [iri.rpartition("/")[2] for iri in threads] == ["1"]
