"""Ten runs of likwid-bench, pinned differently: found by one query, compared by one."""

import json
import os
import re
import shutil
from typing import Any

import pytest

from tests.servers import wait_until
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e

_RUN = re.compile(r"supertwin: completed after [\d.]+ s: (\S+)")
_TAG = "pinnings"
# Where it runs, and likwid-bench's kernel, size of its arrays and number of threads.
RUNS: list[tuple[tuple[str, ...], str, str, int]] = [
    (("--pin", "compact", "--threads", "1"), "sum", "100kB", 1),
    (("--pin", "scatter", "--threads", "1"), "sum", "100kB", 1),
    (("--pin", "compact-cores", "--threads", "1"), "copy", "100kB", 1),
    (("--cpus", "0"), "sum", "100kB", 1),
    (("--cpus", "1"), "sum", "100kB", 1),
    (("--pin", "compact", "--threads", "2"), "sum", "100kB", 2),
    (("--pin", "scatter", "--threads", "2"), "sum", "100kB", 2),
    (("--cpus", "0-1"), "copy", "100kB", 2),
    (("--pin", "compact", "--threads", "1"), "sum", "64MB", 1),
    (("--pin", "compact", "--threads", "2"), "sum", "64MB", 2),
]
_PASSES = {"100kB": "20000", "64MB": "30"}


def command(kernel: str, size: str, threads: int) -> list[str]:
    if not shutil.which("likwid-bench"):  # it is for x86 only
        words = f"bytearray({int(_PASSES[size])} * {threads})"
        return ["python3", "-S", "-c", f"for _ in range(9): {words}"]
    work = ("-t", kernel, "-i", _PASSES[size], "-w", f"N:{size}:{threads}")
    return ["likwid-bench", *work]


@pytest.fixture(scope="module")
def ten(stack: Stack) -> list[str]:
    """The IRIs of the runs, once they are recorded."""
    found = []
    sampled = ("--metrics", "kernel.percpu.cpu.user", "--every", "10ms", "--tag", _TAG)
    for where, *what in RUNS:
        done = stack.run("observe", *where, *sampled, "--", *command(*what))
        found += _RUN.findall(done.stderr)
    for iri in found:
        kept = stack.home / "observations" / iri.rsplit("/", 1)[1] / "recorded"
        wait_until(kept.exists, seconds=20)
    return found


def rows(stack: Stack, name: str, *words: str) -> list[dict[str, Any]]:
    found = stack.run("query", f"observations/{name}", *words, "--format", "json")
    told: list[dict[str, Any]] = json.loads(found.stdout)
    return told


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one CPU only")
def test_one_query_finds_them_and_one_command_compares_them(
    stack: Stack, ten: list[str]
) -> None:
    assert len(ten) == 10
    found = rows(stack, "runs", "--tag", _TAG)
    assert [row["run"] for row in found] == ten[::-1]
    assert {row["host"] for row in found} == {HOST}
    policies = [words[1] if words[0] == "--pin" else None for words, *_ in RUNS]
    assert [row["policy"] for row in found] == policies[::-1]
    assert [row["threads"] for row in found] == [r[3] for r in RUNS][::-1]
    scattered = rows(stack, "runs", "--tag", _TAG, "--pinned", "scatter")
    assert {row["run"] for row in scattered} == {ten[1], ten[6]}

    told = json.loads(stack.run("compare", *ten, "--json").stdout)
    assert [group["name"] for group in told["groups"]] == ten
    measures = {(m["metric"], m["instance"]): m for m in told["measures"]}
    duration = measures["duration", None]
    assert all(one["mean"] > 0 for one in duration["estimates"])
    assert {one["word"] for one in duration["verdicts"]} == {"unknown"}
    used = [measures["kernel.percpu.cpu.user", f"cpu{n}"]["estimates"] for n in (0, 1)]
    on_1 = RUNS.index((("--cpus", "1"), "sum", "100kB", 1))
    assert used[1][on_1]["mean"] > used[0][on_1]["mean"]
    assert used[0][0]["mean"] > used[1][0]["mean"]
    differs = {name.rpartition("#")[2] for name in told["differences"]}
    assert {"argumentVector", "pinningPolicy", "involvesThread"} <= differs
