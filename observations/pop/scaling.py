"""How a program scales over a series of runs with more and more threads.

The efficiencies are equations 3.10 to 3.13 of the thesis, as POP defines them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.stores.endpoint import Endpoint
from observations.errors import NoSeriesError
from observations.pop.fits import STRONG, WEAK, Fit, fit
from queries.catalogue import saved_query

QUERY = "observations/scaling"
_NO_COUNTS = "not every run counted Instructions and Cycles (--role)"


@dataclass(frozen=True)
class Counted:
    """The factors of computation scaling: instructions, IPC and frequency."""

    instructions: float
    ipc: float
    frequency: float


@dataclass(frozen=True)
class ScaledRun:
    """A run compared with the runs of the fewest threads; times are in seconds."""

    run: str
    ranks: int
    threads: int
    seconds: float
    efficiency: float
    speedup: float
    computation: float
    whole: float
    counted: Counted | None


@dataclass(frozen=True)
class Series:
    """A strong or weak series with its fits; ``lacks`` says what was not counted."""

    tag: str
    host: str
    is_weak: bool
    runs: tuple[ScaledRun, ...]
    fits: tuple[Fit, ...]
    lacks: str


def read_series(twin: Endpoint, tag: str, host: str, *, is_weak: bool) -> Series:
    """Read a series from the graph; raises NoSeriesError."""
    query = saved_query(QUERY).bind({"tag": tag, "host": host})
    rows = twin.table(query).records()
    if not rows:
        raise NoSeriesError(
            f"no run on {host} with the tag {tag!r} has parallel efficiencies: add "
            "`--pop --tag` to `supertwin observe`"
        )
    return series(tag, host, rows, is_weak=is_weak)


def series(
    tag: str, host: str, rows: Sequence[Mapping[str, Any]], *, is_weak: bool
) -> Series:
    """Build a series from the rows of `observations/scaling`."""
    reference = _reference(rows)
    runs = tuple(_scaled(row, reference, is_weak=is_weak) for row in rows)
    times = [run.seconds for run in runs]
    threads = [run.threads for run in runs]
    fits = tuple(fit(law, threads, times) for law in (WEAK if is_weak else STRONG))
    lacks = "" if reference else _NO_COUNTS
    return Series(tag, host, is_weak, runs, fits, lacks)


def _reference(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, float] | None:
    """Return the means of the runs with the fewest threads; None without counts."""
    names = ("instructions", "cycles", "useful", "threads")
    if any(row[name] is None for row in rows for name in names):
        return None
    fewest = min(int(row["threads"]) for row in rows)
    first = [row for row in rows if int(row["threads"]) == fewest]
    return {name: sum(float(row[name]) for row in first) / len(first) for name in names}


def _scaled(
    row: Mapping[str, Any], reference: Mapping[str, float] | None, *, is_weak: bool
) -> ScaledRun:
    kind = "weak" if is_weak else "strong"
    return ScaledRun(
        str(row["run"]),
        int(row["ranks"]),
        int(row["threads"]),
        float(row["seconds"]),
        float(row["efficiency"]),
        float(row["speedup"]),
        float(row[f"{kind}Scaling"]),
        float(row[f"{kind}Global"]),
        _counted(row, reference, is_weak=is_weak) if reference else None,
    )


def _counted(
    row: Mapping[str, Any], reference: Mapping[str, float], *, is_weak: bool
) -> Counted:
    """Return equation 3.12: the three factors, whose product is computation scaling.

    The frequency is cycles per second of useful time.
    """
    names = ("instructions", "cycles", "useful")
    ratio = {name: float(row[name]) / reference[name] for name in names}
    work = float(row["threads"]) / reference["threads"] if is_weak else 1.0
    return Counted(
        work / ratio["instructions"],
        ratio["instructions"] / ratio["cycles"],
        ratio["cycles"] / ratio["useful"],
    )
