"""The efficiencies of a run in a few lines of text."""

from collections.abc import Iterator, Mapping
from typing import Any

from observations.pop.analysis import Analysis, Efficiencies

_STATES = {
    "useful": "useful",
    "barrier": "OpenMP barriers",
    "idle": "idle",
    "lock": "OpenMP locks",
    "fork": "fork and join",
    "mpi_wait": "waiting in MPI",
    "mpi_call": "other MPI calls",
}

_HEAD = f"{'efficiency':12}{'parallel':>10}{'load balance':>14}{'communication':>15}"


def table(analysis: Analysis) -> list[str]:
    """Return a line for each group of efficiencies, and one for where the time went."""
    return [*_head(analysis), *_efficiencies(analysis), *_missing(analysis)]


def trace_line(event: Mapping[str, Any]) -> list[str]:
    """Return a line with what the trace in a runner's event holds, if there is one."""
    trace = event.get("trace")
    if not trace:
        return []
    kept = sum(len(thread["slices"]) for thread in trace["threads"])
    left_out = trace["left_out_slices"]
    more = f", {left_out} shorter ones left out" if left_out else ""
    return [f"trace: {kept} times in MPI and OpenMP{more}"]


def _head(analysis: Analysis) -> Iterator[str]:
    if not analysis.processes:
        return
    all_of_it = analysis.seconds * analysis.threads
    shares = [
        f"{title} {getattr(analysis.total, name) / all_of_it:.1%}"
        for name, title in _STATES.items()
        if getattr(analysis.total, name) > all_of_it / 2000
    ]
    ranks, threads = len(analysis.processes), analysis.threads
    yield f"ranks: {ranks}, threads: {threads}, recorded: {analysis.seconds:.3f} s"
    yield f"time: {', '.join(shares)}"


def _efficiencies(analysis: Analysis) -> Iterator[str]:
    groups = {"all": analysis.whole, "MPI": analysis.mpi, "OpenMP": analysis.openmp}
    known = {name: found for name, found in groups.items() if found}
    if known:
        yield _HEAD
    for name, found in known.items():
        yield _row(name, found)


def _row(name: str, found: Efficiencies) -> str:
    balance, communication = found.load_balance, found.communication
    return f"{name:12}{found.parallel:10.3f}{balance:14.3f}{communication:15.3f}"


def _missing(analysis: Analysis) -> Iterator[str]:
    for name, reason in analysis.missing.items():
        yield f"no {name}: {reason}"
