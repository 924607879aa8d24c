"""The facts of made-up hosts: shapes, devices, jobs, runs and series.

Answers to questions are computed from these facts alone, never from the graph.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bench.questions.levels import Level, Span

Series = tuple[str, str | None]
GIB = 2**30


@dataclass(frozen=True)
class Shape:
    """A regular machine. Siblings are numbered one machine apart, as Linux does.

    Each number is a count in the next larger part: `domains` of a socket, `l3` of a
    domain, `l2` of an L3 cache, `cores` of an L2 cache, `threads` of a core.
    """

    model: str
    flags: tuple[str, ...]
    sockets: int = 2
    domains: int = 1
    l3: int = 1
    l2: int = 4
    cores: int = 1
    threads: int = 2
    memory: int = 32 * GIB

    @property
    def in_domain(self) -> int:
        return self.l3 * self.l2 * self.cores

    @property
    def in_socket(self) -> int:
        return self.domains * self.in_domain

    @property
    def all_cores(self) -> int:
        return self.sockets * self.in_socket

    @property
    def cpus(self) -> range:
        return range(self.all_cores * self.threads)

    def width(self, part: str) -> int:
        """The number of cores in a core, L1, L2 or L3 cache, domain or socket."""
        widths = {
            "l2": self.cores,
            "l3": self.l2 * self.cores,
            "domain": self.in_domain,
            "socket": self.in_socket,
        }
        return widths.get(part, 1)

    def place(self, cpu: int, part: str) -> int:
        """The number of the core, cache, domain or socket that has a thread."""
        return cpu % self.all_cores // self.width(part)

    def count(self, part: str) -> int:
        """How many cores, caches, domains or sockets there are."""
        return self.all_cores // self.width(part)

    def of(self, part: str, number: int) -> list[int]:
        """The threads of a core, cache, domain or socket."""
        return [cpu for cpu in self.cpus if self.place(cpu, part) == number]

    @property
    def text(self) -> str:
        """The machine as ``lstopo --input`` takes it."""
        indexes = f"(indexes={self.threads}*{self.all_cores}:1*{self.threads})"
        return (
            f"pack:{self.sockets} numa:{self.domains}(memory={self.memory}) "
            f"l3:{self.l3}(size={CACHES['l3'][2]}) "
            f"l2:{self.l2}(size={CACHES['l2'][2]}) "
            f"l1d:{self.cores}(size={CACHES['l1d'][2]}) "
            f"l1i:1(size={CACHES['l1i'][2]}) core:1 pu:{self.threads}{indexes}"
        )


# Level, type and size.
CACHES = {
    "l1d": (1, "DataCache", 48 * 1024),
    "l1i": (1, "InstructionCache", 32 * 1024),
    "l2": (2, "UnifiedCache", 2 * 2**20),
    "l3": (3, "UnifiedCache", 32 * 2**20),
}


@dataclass(frozen=True)
class Nic:
    """A network interface; its link's speed is in bit/s."""

    name: str
    speed: int
    driver: str
    address: str
    pci: str
    domain: int


@dataclass(frozen=True)
class Disk:
    """A disk; its size is in bytes."""

    name: str
    size: int
    rotational: bool


@dataclass(frozen=True)
class Job:
    """The part of a job on one host; `used` is in CPUs' worth of time."""

    job: str
    user: str
    cpus: tuple[int, ...]
    began: int
    ended: int | None = None
    memory_limit: int = 8 * GIB
    cpu_limit: float | None = None

    @property
    def path(self) -> str:
        return f"/oar/{self.user}_{self.job}"

    def span(self, now: float) -> Span:
        """From its start to its end, or until now."""
        return Span(self.began, self.ended or now)


@dataclass(frozen=True)
class Launch:
    """A run under observation."""

    id: str
    command: tuple[str, ...]
    cpus: tuple[int, ...]
    span: Span
    exit: int = 0
    policy: str = "compact"

    @property
    def text(self) -> str:
        return " ".join(self.command)

    @property
    def outcome(self) -> str:
        return "failed" if self.exit else "completed"


@dataclass(frozen=True)
class Host:
    """One host; without series it is not sampled."""

    name: str
    shape: Shape
    kernel: str
    bios: str
    partition: str
    probed: str
    nics: Sequence[Nic]
    disks: Sequence[Disk]
    series: Mapping[Series, Level] = field(default_factory=dict)
    jobs: Sequence[Job] = ()
    runs: Sequence[Launch] = ()

    def of(self, metric: str) -> Iterator[tuple[str | None, Level]]:
        """The instances of a metric with their series."""
        for (name, instance), level in self.series.items():
            if name == metric:
                yield instance, level

    def busy(self, cpu: int, span: Span) -> float:
        """The share of time in which a thread was busy."""
        return 1 - self.series["kernel.percpu.cpu.idle", f"cpu{cpu}"].rate(span) / 1000

    def mean_busy(self, cpus: Sequence[int], span: Span) -> float:
        """The share of time in which some threads were busy."""
        return sum(self.busy(cpu, span) for cpu in cpus) / len(cpus)

    @property
    def memory(self) -> int:
        return self.shape.count("domain") * self.shape.memory

    @property
    def running(self) -> list[Job]:
        return [job for job in self.jobs if job.ended is None]


@dataclass(frozen=True)
class World:
    """All hosts, at a time in Unix seconds."""

    end: int
    hosts: Sequence[Host]

    def some(self, name: str | None) -> list[Host]:
        """One host, or all of them."""
        return [host for host in self.hosts if name in (None, host.name)]

    @property
    def sampled(self) -> list[Host]:
        return [host for host in self.hosts if host.series]

    def last(self, minutes: float) -> Span:
        """The minutes before the end."""
        return Span(self.end - 60 * minutes, self.end)

    @property
    def hour(self) -> dict[str, str]:
        """The parameters of a range of time: the hour before the end."""
        within = self.last(60)
        return {"since": at(within.start), "until": at(within.end)}


def at(time: float) -> str:
    """A time in Unix seconds as text, in UTC."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
