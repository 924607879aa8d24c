"""How long commands take, including Python's start."""

import tempfile
import time
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

from bench.table import Figure
from tests.command_line import run_by_itself
from tests.dashboards.synthetic_facts import topology
from tests.stack import Stack

_RUNS = 5
_HOSTS = 60
# Topologies of the hosts other than this one, used in turn.
_MACHINES = (
    "pack:1 numa:1 l3:1 l2:4 core:1 pu:2",
    "pack:2 numa:1 l3:1 l2:8 core:1 pu:2",
    "pack:2 numa:2 l3:2 l2:4 core:1 pu:1",
    "pack:4 numa:1 l3:1 l2:8 core:1 pu:2",
)


def command_figures(stack: Stack) -> list[Figure]:
    """Seconds of the fastest run of each command, on this host of few CPUs."""
    out = str(Path(stack.home) / "bench.dtdl.json")
    plan = ("kernel.all.load", "--period", "10s", "--plan", "bench", "--yes")
    query = _seconds(stack, ("query", "cache/sharing"))
    add = _seconds(stack, ("sample", "add", *plan), ("sample", "remove", "bench"))
    export = _seconds(stack, ("export", "dtdl", "--out", out))
    return [
        Figure("supertwin query cache/sharing", query, "s", 0.3),
        Figure("supertwin sample add", add, "s", 0.5),
        Figure("supertwin export dtdl", export, "s", 1.0),
        _dashboards_checked(stack),
    ]


def _dashboards_checked(stack: Stack) -> Figure:
    """This machine is sampled; the others have hwloc's file only, and stay loaded."""
    others = [f"node{number}" for number in range(_HOSTS - 1)]
    with tempfile.TemporaryDirectory() as folder:
        texts = [topology(machine) for machine in _MACHINES]
        for host, text in zip(others, cycle(texts)):
            (Path(folder) / f"{host}.xml").write_bytes(text)
        stack.run("ingest", "--bulk", folder)
    seconds = _seconds(stack, ("dashboards", "--check"))
    return Figure(f"supertwin dashboards --check, {_HOSTS} hosts", seconds, "s", 5.0)


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
