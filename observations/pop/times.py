"""The recorded times of a run: of each thread of each process, in seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from observations.recorder_sources import recorder_sources

_NANO = 1e-9
_RECORDER = Path(__file__).parent / "recorder"


@dataclass(frozen=True)
class ThreadTimes:
    """Seconds that a thread spent in each state, in the order of `recorder.c`.

    ``mpi_wait`` is in calls that only wait, ``mpi_call`` in all others.
    """

    useful: float = 0.0
    barrier: float = 0.0
    idle: float = 0.0
    lock: float = 0.0
    fork: float = 0.0
    mpi_wait: float = 0.0
    mpi_call: float = 0.0

    @property
    def in_mpi(self) -> float:
        """Seconds in MPI."""
        return self.mpi_wait + self.mpi_call

    def __add__(self, other: "ThreadTimes") -> "ThreadTimes":
        return ThreadTimes(*(getattr(self, n) + getattr(other, n) for n in STATES))


STATES = tuple(one.name for one in fields(ThreadTimes))


@dataclass(frozen=True)
class ProcessTimes:
    """A process; its first thread is the one that started it.

    ``rank`` is negative without MPI. ``openmp`` is "recorded", or "none" if it used no
    OpenMP, or what could not be recorded: "libgomp" or "other-tool".
    """

    rank: int
    size: int
    openmp: str
    seconds: float
    threads: tuple[ThreadTimes, ...]

    @property
    def outside_mpi(self) -> float:
        """Seconds outside MPI: those of the first thread, as POP defines it.

        If another thread computed for longer, the process was not in MPI meanwhile.
        """
        busiest = max(thread.useful for thread in self.threads)
        return max(self.seconds - self.threads[0].in_mpi, busiest)


def sources() -> dict[str, str]:
    """Return the C files of the recorder by name."""
    return recorder_sources(_RECORDER)


def processes_of(event: Mapping[str, Any]) -> list[ProcessTimes]:
    """Return the processes of a runner's event, by rank."""
    found = [_process(one) for one in event["processes"]]
    return sorted(found, key=lambda one: one.rank)


def _process(one: Mapping[str, Any]) -> ProcessTimes:
    threads = tuple(_thread(times) for times in one["threads"])
    return ProcessTimes(
        one["rank"], one["size"], one["openmp"], one["ns"] * _NANO, threads
    )


def _thread(times: Sequence[int]) -> ThreadTimes:
    return ThreadTimes(*(ns * _NANO for ns in times))
