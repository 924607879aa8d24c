"""The suites: which program measures what, with which arguments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.machine import MAIN_MEMORY, STREAM_ELEMENTS, TIMES_CACHES, Machine

_DOUBLE = 8
_FLAGS = ("-O2", "-std=gnu11", "-pthread")
# STREAM is to show what a compiler makes of plain loops.
_STREAM_FLAGS = ("-O3", "-march=native", "-std=gnu11", "-fopenmp")
_SMALLEST, _LATENCY_STEP = 4096, 2


@dataclass(frozen=True)
class Effort:
    """How often and how long each kernel runs, and whether every variant does."""

    name: str
    repeats: int
    seconds: float
    every_variant: bool


QUICK = Effort("quick", 10, 0.02, every_variant=False)
FULL = Effort("full", 15, 0.03, every_variant=True)


@dataclass(frozen=True)
class Suite:
    """A benchmark: its program, and the arguments for some CPUs of a machine.

    ``kernels`` is about how many kernels it measures, for an estimate of its time.
    """

    name: str
    title: str
    about: str
    flags: tuple[str, ...]
    arguments: Callable[[Machine, Sequence[int], Effort], list[str]]
    kernels: Callable[[Effort], int]

    def estimate(self, effort: Effort) -> float:
        """Return about how many seconds one run takes."""
        # Twice for finding the number of iterations, and once for warming up.
        return 1.0 + self.kernels(effort) * (effort.repeats + 3) * 1.2 * effort.seconds


def _carm(machine: Machine, cpus: Sequence[int], effort: Effort) -> list[str]:
    levels = [f"{name}:{size}" for name, size in machine.levels(cpus).items()]
    variants = "all" if effort.every_variant else "widest"
    return [str(effort.repeats), str(effort.seconds), variants, *levels]


def _stream(machine: Machine, cpus: Sequence[int], effort: Effort) -> list[str]:
    elements = TIMES_CACHES * machine.last_level(cpus) // _DOUBLE
    return [str(effort.repeats), str(max(elements, STREAM_ELEMENTS))]


def _latency(machine: Machine, cpus: Sequence[int], effort: Effort) -> list[str]:
    largest = machine.levels(cpus)[MAIN_MEMORY]
    sizes, size = [], _SMALLEST
    while size < largest:
        sizes.append(size)
        size *= _LATENCY_STEP if effort.every_variant else 2 * _LATENCY_STEP
    every = (str(one) for one in (*sizes, largest))
    return [str(effort.repeats), str(effort.seconds), "huge", *every]


SUITES: Mapping[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite(
            "carm",
            "Cache-aware roofline",
            "floating-point peaks, and bandwidths of all levels of memory",
            _FLAGS,
            _carm,
            lambda effort: 80 if effort.every_variant else 30,
        ),
        Suite(
            "stream",
            "STREAM",
            "bandwidth of main memory, with ordinary and with streaming stores",
            _STREAM_FLAGS,
            _stream,
            lambda effort: 8,
        ),
        Suite(
            "latency",
            "Load latency",
            "latency of loads that depend on each other, by size of the memory",
            _FLAGS,
            _latency,
            lambda effort: 15 if effort.every_variant else 8,
        ),
    )
}
