"""The cache-aware roofline model of a host: limits, runs, and what would move them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.machine import MAIN_MEMORY, REMOTE_MEMORY

# Bytes that the cores request from memory and caches, as in the cache-aware model.
REQUESTED = "requested"

# A rate of this share of a roof has reached it.
_NEAR = 0.9
# A share above it is shown as more than 100 %.
_EXCEEDED = 1.005
# What such a share means.
ABOVE = (
    "a share above 100 %: the run was measured at another time than the roof, when the "
    "machine was faster, or its data fit into a cache"
)


@dataclass(frozen=True)
class Roof:
    """The bandwidth of a level of memory, in bytes per second; ``theory`` if known.

    ``at`` is when it was measured, and ``concern`` what casts doubt on it, or ''.
    """

    level: str
    bandwidth: float
    kernel: str
    result: str
    theory: float | None
    at: str
    concern: str


@dataclass(frozen=True)
class Peak:
    """A floating-point peak, in operations per second; ``theory`` if it is known.

    ``at`` is when it was measured, and ``concern`` what casts doubt on it, or ''.
    """

    operation: str
    isa: str
    precision: str
    rate: float
    result: str
    theory: float | None
    at: str
    concern: str

    @property
    def name(self) -> str:
        """What it is a peak of, such as ``avx512 double fma``."""
        return f"{self.isa} {self.precision} {self.operation}"


@dataclass(frozen=True)
class Move:
    """What would move a point: ``up`` to a roof, or ``right`` to the ridge of one.

    ``factor`` is by how much its rate, or its operations per byte, can grow until then.
    """

    direction: str
    roof: str
    factor: float
    text: str


@dataclass(frozen=True)
class Point:
    """A run: its operations per byte and per second, and how near it is to a roof.

    ``traffic`` says whose bytes: those of ``DRAM``, or those that the cores requested.
    ``roof`` is what limits it at its intensity: a level of memory, or a peak. ``share``
    is its rate divided by this limit: of main memory, or of the fastest cache for
    requested bytes. ``moves`` say what would move it up or right. ``at`` is when it
    started.
    """

    name: str
    kind: str
    threads: int
    intensity: float
    rate: float
    run: str
    at: str
    traffic: str = "DRAM"
    roof: str = ""
    share: float = 0.0
    moves: tuple[Move, ...] = ()


@dataclass(frozen=True)
class Roofline:
    """The model for one number of threads; roofs and peaks with the highest first."""

    host: str
    threads: int
    policy: str
    clock: float
    roofs: tuple[Roof, ...]
    peaks: tuple[Peak, ...]
    points: tuple[Point, ...]

    @property
    def counted(self) -> str:
        """The number of threads in words, such as ``1 thread``."""
        return f"{self.threads} thread" + ("" if self.threads == 1 else "s")

    @property
    def is_exceeded(self) -> bool:
        """Whether a point is above its limit, when its share is rounded to percents."""
        return any(point.share > _EXCEEDED for point in self.points)

    @property
    def memory(self) -> Roof:
        """The roof of main memory, that of the threads' own NUMA domains."""
        own = (roof for roof in self.roofs if roof.level == MAIN_MEMORY)
        return next(own, self.roofs[-1])

    def ridge(self, roof: Roof) -> float:
        """Return the operations per byte from which a level does not limit the peak."""
        return self.peaks[0].rate / roof.bandwidth

    def limit(self, point: Point) -> tuple[float, str]:
        """Return the highest rate at the intensity of a point, and the roof's name.

        What the cores request may come from the fastest cache.
        """
        roof = self.roofs[0] if point.traffic == REQUESTED else self.memory
        limits = (
            (self.peaks[0].rate, self.peaks[0].name),
            (point.intensity * roof.bandwidth, roof.level),
        )
        return min(limits, key=lambda each: each[0])


def placed(model: Roofline, point: Point) -> Point:
    """Return a point with its limit, its share of it, and what would move it."""
    limit, bound = model.limit(point)
    moves = tuple(_moves(model, point))
    return replace(point, roof=bound, share=point.rate / limit, moves=moves)


def _moves(model: Roofline, point: Point) -> Iterator[Move]:
    """Yield the move to the next roof above a point, and that to the right.

    A point near a roof has reached it. What is clearly over main memory's roof gets its
    data from a cache: the cache's roof limits it.
    """
    intensity, rate = point.intensity, point.rate
    lines = [(intensity * roof.bandwidth, roof) for roof in model.roofs]
    top = model.peaks[0].rate
    over = [(value, roof) for value, roof in lines if _NEAR * value > rate]
    peaks = [peak for peak in model.peaks if _NEAR * peak.rate > rate]
    memory = min(over, key=lambda each: each[0], default=None)
    peak = min(peaks, key=lambda each: each.rate, default=None)
    if memory and peak and memory[0] < peak.rate:
        yield _to_memory(memory[1], memory[0] / rate)
    elif peak:
        yield _to_peak(model, peak, rate)
    limits = [(value, roof) for value, roof in lines if _NEAR * rate < value < top]
    if limits:
        yield _to_the_right(model, min(limits, key=lambda each: each[0])[1], intensity)


def _to_memory(roof: Roof, factor: float) -> Move:
    how = f"keep its data in {roof.level}"
    if roof.level == MAIN_MEMORY:
        how = "more loads at the same time, in the order of memory"
    elif roof.level == REMOTE_MEMORY:
        how = "let each thread first touch the memory that it uses"
    return Move("up", roof.level, factor, f"{factor:.3g}x to {roof.level}: {how}")


def _to_peak(model: Roofline, peak: Peak, rate: float) -> Move:
    """Describe how the next peak differs from the one that a point is above."""
    below = [one for one in model.peaks if _NEAR * one.rate <= rate]
    how = "fewer instructions that do not calculate, and shorter chains of dependencies"
    if below and below[0].isa != peak.isa:
        how = f"vectorise for {peak.isa}"
    elif below:
        how = f"combine operations into {peak.operation}"
    factor = peak.rate / rate
    return Move("up", peak.name, factor, f"{factor:.3g}x to {peak.name}: {how}")


def _to_the_right(model: Roofline, roof: Roof, intensity: float) -> Move:
    ridge = model.ridge(roof)
    factor = ridge / intensity
    return Move(
        "right",
        roof.level,
        factor,
        f"{roof.level} limits it below {ridge:.3g} FLOP/B: {factor:.3g}x as many "
        "operations for each byte, by blocking or fusing loops",
    )


def document(model: Roofline) -> dict[str, Any]:
    """Return the model as JSON: rates per second, intensities per byte."""
    return {
        "host": model.host,
        "threads": model.threads,
        "policy": model.policy,
        "clock": model.clock,
        "roofs": [{**vars(roof), "ridge": model.ridge(roof)} for roof in model.roofs],
        "peaks": [{**vars(peak), "name": peak.name} for peak in model.peaks],
        "points": [
            {**vars(point), "moves": [vars(move) for move in point.moves]}
            for point in model.points
        ],
    }
