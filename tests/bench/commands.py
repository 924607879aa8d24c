"""How long a person waits for a command, Python's start included."""

import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.table import Figure
from tests.command_line import run_by_itself
from tests.stack import Stack

_RUNS = 5


def command_figures(stack: Stack) -> list[Figure]:
    """Seconds of the quickest run of each command, on this host of few CPUs."""
    out = str(Path(stack.home) / "bench.dtdl.json")
    plan = ("kernel.all.load", "--period", "10s", "--plan", "bench", "--yes")
    query = _seconds(stack, ("query", "cache/sharing"))
    add = _seconds(stack, ("sample", "add", *plan), ("sample", "remove", "bench"))
    export = _seconds(stack, ("export", "dtdl", "--out", out))
    return [
        Figure("supertwin query cache/sharing", query, "s", 0.3),
        Figure("supertwin sample add", add, "s", 0.5),
        Figure("supertwin export dtdl", export, "s", 1.0),
    ]


def _seconds(stack: Stack, words: Sequence[str], after: Sequence[str] = ()) -> float:
    taken = []
    for _ in range(_RUNS):
        started = time.monotonic()
        done = run_by_itself(stack.env, *words)
        taken.append(time.monotonic() - started)
        assert done.returncode == 0, done.stderr
        if after:
            stack.run(*after)
    return min(taken)
