"""The efficiencies of one run, as the POP centre of excellence defines them.

The definitions are those of https://co-design.pop-coe.eu/metrics/: 3.7 to 3.9 and 3.14
to 3.16 of the thesis that this follows. Times of OpenMP and MPI are averaged over
threads, so a process counts as often as it has threads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

from observations.pop.times import ProcessTimes, ThreadTimes, processes_of

_NO_MPI, _NO_OPENMP = "the program used no MPI", "the program used no OpenMP"
_IDLE = "no thread computed anything"
_UNRECORDED = {
    "libgomp": "it ran on GCC's libgomp, which cannot be recorded: add --libomp",
    "other-tool": "another OMPT tool was loaded, or OMP_TOOL is disabled",
}
_SEVERAL = "several programs used OpenMP or MPI: observe one at a time"


@dataclass(frozen=True)
class Efficiencies:
    """The efficiency of all, and the two factors that it is the product of."""

    parallel: float
    load_balance: float
    communication: float

    def over(self, other: "Efficiencies") -> "Efficiencies":
        """Divide each by another."""
        return Efficiencies(
            min(self.parallel / other.parallel, 1.0),
            self.load_balance / other.load_balance,
            min(self.communication / other.communication, 1.0),
        )


@dataclass(frozen=True)
class Analysis:
    """How efficiently a run used its ranks and threads.

    ``seconds`` is the time of the slowest rank from the return of MPI_Init to the call
    of MPI_Finalize, or without MPI that of the process. ``missing`` names what could
    not be calculated, with the reason.
    """

    seconds: float = 0.0
    processes: tuple[ProcessTimes, ...] = ()
    total: ThreadTimes = ThreadTimes()
    whole: Efficiencies | None = None
    mpi: Efficiencies | None = None
    openmp: Efficiencies | None = None
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def threads(self) -> int:
        """The number of threads of all processes."""
        return sum(len(one.threads) for one in self.processes)


WHOLE, MPI, OPENMP = "parallel efficiency", "MPI", "OpenMP"


def analyse(event: Mapping[str, Any]) -> Analysis:
    """Return the analysis of what a runner recorded."""
    ranks = _analysable(processes_of(event))
    if reason := _whole_reason(event["reason"], ranks):
        return Analysis(missing={WHOLE: reason})
    is_mpi = ranks[0].rank >= 0
    unrecorded = next(
        (_UNRECORDED[r.openmp] for r in ranks if r.openmp in _UNRECORDED), ""
    )
    if unrecorded and event["reason"]:
        unrecorded = event["reason"]
    if unrecorded and not is_mpi:
        return Analysis(missing={WHOLE: f"it has no times of OpenMP: {unrecorded}"})
    return _analysed(ranks, is_mpi=is_mpi, unrecorded=unrecorded)


def _analysable(processes: Sequence[ProcessTimes]) -> Sequence[ProcessTimes]:
    """Return the ranks, otherwise the processes whose OpenMP was recorded.

    Without any, return one of the others, which has the reason.
    """
    ranks = [one for one in processes if one.rank >= 0]
    return ranks or [p for p in processes if p.openmp == "recorded"] or processes[:1]


def not_recorded() -> Analysis:
    """Return the analysis of a run that ended before its times were read."""
    return Analysis(missing={WHOLE: "the run ended before its times were read"})


def _whole_reason(reason: str, ranks: Sequence[ProcessTimes]) -> str:
    """Return why nothing can be calculated; empty if something can."""
    if not ranks:
        return reason
    size = max(ranks[0].size, 1)
    if len({one.rank for one in ranks}) != len(ranks) or len(ranks) > size:
        return _SEVERAL
    if len(ranks) < size:
        found = f"{len(ranks)} of {size} ranks have times"
        return f"{found}: ranks on other hosts are not recorded"
    return ""


def _analysed(
    ranks: Sequence[ProcessTimes], *, is_mpi: bool, unrecorded: str
) -> Analysis:
    seconds = max(one.seconds for one in ranks)
    threads = [thread for one in ranks for thread in one.threads]
    has_openmp = any(one.openmp == "recorded" for one in ranks)
    whole = None if unrecorded else efficiencies([t.useful for t in threads], seconds)
    outside = [one.outside_mpi for one in ranks for _ in one.threads]
    mpi = efficiencies(outside, seconds) if is_mpi else None
    openmp = None
    if whole and has_openmp:
        openmp = whole.over(mpi) if mpi else whole
    missing = {} if mpi else {MPI: _NO_MPI}
    if whole is None:
        lacks = f"it has no times of OpenMP: {unrecorded}"
        missing[WHOLE] = lacks if unrecorded else _IDLE
    if openmp is None:
        missing[OPENMP] = unrecorded or (_IDLE if has_openmp else _NO_OPENMP)
    total = reduce(add, threads)
    return Analysis(seconds, tuple(ranks), total, whole, mpi, openmp, missing)


def efficiencies(useful: Sequence[float], seconds: float) -> Efficiencies | None:
    """Return the efficiencies of threads that were useful for some of ``seconds``.

    None if no time was useful.
    """
    most, mean = max(useful), sum(useful) / len(useful)
    if not most > 0 or not seconds:
        return None
    # Clocks of two threads are read one after the other.
    return Efficiencies(
        min(mean / seconds, 1.0), min(mean / most, 1.0), min(most / seconds, 1.0)
    )
