"""The cache-aware roofline model of a host, from benchmarks in its graph."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from benchmarks.errors import NoBenchmarkError
from benchmarks.machine import MAIN_MEMORY, REMOTE_MEMORY
from core.stores.endpoint import Endpoint
from queries.catalogue import saved_query
from queries.errors import UnknownHostError
from queries.names import unknown
from queries.run import saved_rows

# Bytes that the cores request from memory and caches, as in the cache-aware model.
REQUESTED = "requested"
_FLOPS, _BYTES, _HZ = "FLOPS", "BYTE-PER-SEC", "HZ"
# Streaming stores avoid a level instead of measuring it.
_NOT_A_ROOF = "streaming-store"

# A rate of this share of a roof has reached it.
_NEAR = 0.9
# A share above it is shown as more than 100 %.
_EXCEEDED = 1.005
# What such a share means.
ABOVE = (
    "a share above 100 %: the run was measured at another time than the roof, when the "
    "machine was faster, or its data fit into a cache"
)

# The saved queries that the model is built from.
ROOFS, POINTS = QUERIES = ("benchmarks/roofs", "benchmarks/points")
# The saved query that has the number of threads of each socket.
SOCKETS = "inventory/cpu"

Rows = Sequence[Mapping[str, Any]]


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


def read_roofline(
    twin: Endpoint, host: str, threads: int | None, precision: str
) -> Roofline:
    """Read the model of a host from its graph.

    Raises NoBenchmarkError and UnknownHostError.
    """
    roofs = saved_rows(twin, ROOFS, {"host": host})
    points = twin.texts(saved_query(POINTS).bind({"host": host}))
    try:
        return roofline(host, roofs, points, threads, precision)
    except NoBenchmarkError as error:
        names = [str(row["host"]) for row in saved_rows(twin, "inventory/names")]
        if host not in names:
            raise UnknownHostError(unknown(host, names)) from None
        sockets = saved_rows(twin, SOCKETS, {"host": host})
        raise not_measured(error, host, threads, sockets) from None


def not_measured(
    error: NoBenchmarkError, host: str, threads: int | None, sockets: Rows
) -> NoBenchmarkError:
    """Return the error for more threads than a host has, or else the given one.

    The rows are those of `inventory/cpu`.
    """
    most = sum(int(row["threads"]) for row in sockets)
    if not most or threads is None or threads <= most:
        return error
    return NoBenchmarkError(
        f"{host} has {most} threads: give --threads {most} or fewer"
    )


def roofline(
    host: str, roofs: Rows, points: Rows, threads: int | None, precision: str
) -> Roofline:
    """Build the model for some threads, by default the most that were measured.

    The rows are those of `benchmarks/roofs` and `benchmarks/points`, the latter also as
    texts. Raises NoBenchmarkError.
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
    own = (row for row in points if int(row["threads"]) == count)
    found_points = (_placed(model, row) for row in own)
    return replace(model, points=tuple(found_points))


def _lacking(host: str, threads: int | None, counts: Sequence[int]) -> str:
    if counts:
        known = ", ".join(map(str, counts))
        return (
            f"the roofs of {host} were measured on {known} threads, not on {threads}: "
            f"`supertwin bench carm --host {host} --threads {threads}` measures them"
        )
    measured = f"`supertwin bench quick --host {host}` measures them"
    return f"no roofs of {host} were measured: {measured}"


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
            *_about(row),
        )
        if roof.level not in best or roof.bandwidth > best[roof.level].bandwidth:
            best[roof.level] = roof
    # L1, L2, L3, DRAM: the order of the levels, not of noisy figures.
    last = (MAIN_MEMORY, REMOTE_MEMORY)
    return sorted(
        best.values(),
        key=lambda roof: (roof.level in last, last[0] != roof.level, roof.level),
    )


def _about(row: Mapping[str, Any]) -> tuple[float | None, str, str]:
    """Return theory, time and concern of a result."""
    theory = None if row["theory"] is None else float(row["theory"])
    return theory, _time(row), str(row["concern"] or "")


def _time(row: Mapping[str, Any]) -> str:
    """Return the time of a row as ``2026-11-21T16:38:21Z``."""
    at = datetime.fromisoformat(str(row["at"])).astimezone(UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _peaks(rows: Rows, precision: str) -> Iterable[Peak]:
    """Return the peaks of one precision, the highest first."""
    found = [
        Peak(
            str(row["kernel"]),
            str(row["isa"]),
            str(row["precision"]),
            float(row["best"]),
            str(row["result"]),
            *_about(row),
        )
        for row in rows
        if _unit(row) == _FLOPS and row["precision"] == precision
    ]
    return sorted(found, key=lambda peak: -peak.rate)


def _placed(model: Roofline, row: Mapping[str, Any]) -> Point:
    return placed(
        model,
        Point(
            str(row["name"]),
            str(row["kind"]),
            int(row["threads"]),
            float(row["intensity"]),
            float(row["rate"]),
            str(row["run"]),
            _time(row),
            str(row["traffic"]),
        ),
    )


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
