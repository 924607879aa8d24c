"""The cache-aware roofline model of a host, from benchmarks in its graph."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.errors import NoBenchmarkError
from benchmarks.machine import MAIN_MEMORY
from core.stores.endpoint import Endpoint
from queries.catalogue import saved_query

_FLOPS, _BYTES, _HZ = "FLOPS", "BYTE-PER-SEC", "HZ"
# Streaming stores avoid a level instead of measuring it.
_NOT_A_ROOF = "streaming-store"

# The saved queries that the model is built from.
QUERIES = ("benchmarks/roofs", "benchmarks/points")

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Roof:
    """The bandwidth of a level of memory, in bytes per second."""

    level: str
    bandwidth: float
    kernel: str
    result: str


@dataclass(frozen=True)
class Peak:
    """A floating-point peak, in operations per second; ``theory`` if it is known."""

    operation: str
    isa: str
    precision: str
    rate: float
    result: str
    theory: float | None = None

    @property
    def name(self) -> str:
        """What it is a peak of, such as ``avx512 double fma``."""
        return f"{self.isa} {self.precision} {self.operation}"


@dataclass(frozen=True)
class Point:
    """A run: its operations per byte and per second, and how near it is to a roof.

    ``roof`` is what limits it at its intensity: a level of memory, or a peak. ``share``
    is its rate divided by the limit of main memory and the highest peak.
    """

    name: str
    kind: str
    threads: int
    intensity: float
    rate: float
    run: str
    roof: str = ""
    share: float = 0.0


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
    def memory(self) -> Roof:
        """The roof of main memory, the lowest."""
        return self.roofs[-1]

    def ridge(self, roof: Roof) -> float:
        """Return the operations per byte from which a level does not limit the peak."""
        return self.peaks[0].rate / roof.bandwidth

    def limit(self, intensity: float) -> float:
        """Return the highest rate at an intensity with data in main memory."""
        return min(self.peaks[0].rate, intensity * self.memory.bandwidth)


def read_roofline(
    twin: Endpoint, host: str, threads: int | None, precision: str
) -> Roofline:
    """Read the model of a host from its graph; raises NoBenchmarkError."""
    roofs, points = (
        twin.table(saved_query(name).bind({"host": host})).records() for name in QUERIES
    )
    return roofline(host, roofs, points, threads, precision)


def roofline(
    host: str, roofs: Rows, points: Rows, threads: int | None, precision: str
) -> Roofline:
    """Build the model for some threads, by default the most that were measured.

    The rows are those of `benchmarks/roofs` and `benchmarks/points`. Raises
    NoBenchmarkError.
    """
    counts = sorted({int(row["threads"]) for row in roofs})
    if not counts or (threads is not None and threads not in counts):
        raise NoBenchmarkError(_lacking(host, threads, counts))
    count = counts[-1] if threads is None else threads
    policy, rows = _one_policy([row for row in roofs if row["threads"] == count])
    peaks = tuple(_peaks(rows, precision))
    found = tuple(_roofs(rows))
    if not peaks or not found:
        raise NoBenchmarkError(_lacking(host, threads, []))
    clock = max((row["value"] for row in rows if _unit(row) == _HZ), default=0.0)
    model = Roofline(host, count, policy, float(clock), found, peaks, ())
    placed = (_placed(model, row) for row in points if row["threads"] == count)
    return replace(model, points=tuple(placed))


def _lacking(host: str, threads: int | None, counts: Sequence[int]) -> str:
    if counts:
        known = ", ".join(map(str, counts))
        return (
            f"the roofs of {host} were measured on {known} threads, not on {threads}: "
            f"`supertwin bench carm --threads {threads}` measures them"
        )
    return f"no roofs of {host} were measured: `supertwin bench quick` does"


def _one_policy(rows: Rows) -> tuple[str, Rows]:
    """Return the rows of the newest thread set: two policies may have one size."""
    newest = max(rows, key=lambda row: str(row["at"]))
    policy = str(newest["policy"])
    return policy, [row for row in rows if row["policy"] == policy]


def _unit(row: Mapping[str, Any]) -> str:
    return str(row["unit"]).rpartition("/")[2]


def _roofs(rows: Rows) -> Iterable[Roof]:
    """Return the best kernel of each level, with the highest bandwidth first."""
    best: dict[str, Roof] = {}
    for row in rows:
        if _unit(row) != _BYTES or row["kernel"] == _NOT_A_ROOF:
            continue
        roof = Roof(
            str(row["level"]),
            float(row["best"]),
            f"{row['isa']} {row['kernel']}",
            str(row["result"]),
        )
        if roof.level not in best or roof.bandwidth > best[roof.level].bandwidth:
            best[roof.level] = roof
    # L1, L2, L3, DRAM: the order of the levels, not of noisy figures.
    return sorted(
        best.values(), key=lambda roof: (roof.level == MAIN_MEMORY, roof.level)
    )


def _peaks(rows: Rows, precision: str) -> Iterable[Peak]:
    """Return the peaks of one precision, the highest first."""
    found = [
        Peak(
            str(row["kernel"]),
            str(row["isa"]),
            str(row["precision"]),
            float(row["best"]),
            str(row["result"]),
            None if row["theory"] is None else float(row["theory"]),
        )
        for row in rows
        if _unit(row) == _FLOPS and row["precision"] == precision
    ]
    return sorted(found, key=lambda peak: -peak.rate)


def _placed(model: Roofline, row: Mapping[str, Any]) -> Point:
    intensity, rate = float(row["intensity"]), float(row["rate"])
    limit = model.limit(intensity)
    bound = MAIN_MEMORY if limit < model.peaks[0].rate else model.peaks[0].name
    return Point(
        str(row["name"]),
        str(row["kind"]),
        int(row["threads"]),
        intensity,
        rate,
        str(row["run"]),
        bound,
        rate / limit,
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
        "points": [vars(point) for point in model.points],
    }
