"""How much each part measures, in the quick and in the full profile."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from bench.sampling import thesis

PROCESSES = 1_000


@dataclass(frozen=True)
class Throughput:
    """Rows as (Hz, metrics, files of each process), and seconds a row."""

    rows: Sequence[tuple[int, int, int]]
    seconds: float


@dataclass(frozen=True)
class Readers:
    """Frequencies, and seconds of each row."""

    hertz: Sequence[int]
    seconds: float


@dataclass(frozen=True)
class Resources:
    """Frequencies, numbers of metrics, and seconds of each cell."""

    hertz: Sequence[int]
    metrics: Sequence[int]
    seconds: float


@dataclass(frozen=True)
class Soak:
    """Total seconds, and for how long a killed server stays down.

    The store is once down for the length of an ``outage``.
    """

    seconds: float
    down: float
    outage: float


@dataclass(frozen=True)
class Ticks:
    """Seconds of a run."""

    seconds: int


@dataclass(frozen=True)
class Busy:
    """Seconds of a run, and the runs of each period with each priority."""

    seconds: int
    runs: int


@dataclass(frozen=True)
class Disk:
    """Seconds, and the period in ms."""

    seconds: float
    period_ms: int


@dataclass(frozen=True)
class Overhead:
    """Periods (ms) and numbers of metrics, applications, and runs of each cell.

    ``stretch`` cells share a run without sampling, in a new random order each time.
    """

    periods: Sequence[int]
    metrics: Sequence[int]
    applications: Sequence[str]
    both_ways: bool
    runs: int
    stretch: int


@dataclass(frozen=True)
class Sensors:
    """DCDB's grid: periods (ms) and numbers of series, and runs of each cell."""

    periods: Sequence[int]
    series: Sequence[int]
    applications: Sequence[str]
    runs: int
    stretch: int


@dataclass(frozen=True)
class Hosts:
    """Numbers of hosts that one bridge samples, series of each host, and seconds."""

    hosts: Sequence[int]
    series: int
    period_ms: int
    seconds: float


@dataclass(frozen=True)
class Profile:
    """The amounts to measure; each field is named after its part."""

    throughput: Throughput
    processes: Readers
    resources: Resources
    soak: Soak
    ticks: Ticks
    busy: Busy
    disk: Disk
    overhead: Overhead
    sensors: Sensors
    hosts: Hosts

    def with_runs(self, runs: int) -> "Profile":
        """The same profile with another number of runs a cell."""
        return replace(
            self,
            overhead=replace(self.overhead, runs=runs),
            sensors=replace(self.sensors, runs=runs),
        )


LIKWID = ("triad", "stream", "sum", "peakflops", "ddot", "daxpy")

QUICK = Profile(
    throughput=Throughput(
        ((8, 4, 1), (16, 6, 1), (32, 6, 1), (64, 6, 1), (8, 6, 3), (64, 6, 3)), 4.0
    ),
    processes=Readers((64, 250), 6.0),
    resources=Resources((1, 8), (10, 50), 4.0),
    soak=Soak(80.0, 3.0, 12.0),
    ticks=Ticks(6),
    busy=Busy(6, 2),
    disk=Disk(30.0, 100),
    overhead=Overhead((1000, 10), (8,), ("triad", "cg", "noise"), False, 3, 4),
    sensors=Sensors((100,), (1000, 10_000), ("ep",), 3, 3),
    hosts=Hosts((1, 10), 100, 100, 6.0),
)
FULL = Profile(
    throughput=Throughput(
        tuple(product(thesis.FREQUENCIES, thesis.METRICS, (1, 3))),
        thesis.SECONDS,
    ),
    processes=Readers((8, 16, 32, 64, 125, 250), 30.0),
    resources=Resources((1, 2, 4, 8), (10, 20, 30, 40, 50), 60.0),
    soak=Soak(1800.0, 10.0, 600.0),
    ticks=Ticks(120),
    busy=Busy(120, 3),
    disk=Disk(3600.0, 1000),
    overhead=Overhead(
        (1000, 100, 10, 1), (1, 8, 24), (*LIKWID, "hpl", "ep", "cg", "noise"),
        True, 30, 4,
    ),
    sensors=Sensors(
        (10_000, 1000, 500, 250, 100), (10, 100, 1000, 5000, 10_000), ("hpl",), 10, 5
    ),
    hosts=Hosts((1, 10, 30), 100, 100, 60.0),
)  # fmt: skip
