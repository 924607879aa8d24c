"""What a benchmark needs to know of a host: thread sets, and sizes of memory levels."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.errors import BenchmarkMachineError
from core.stores.endpoint import Endpoint
from queries.catalogue import saved_query
from queries.errors import UnknownHostError
from queries.names import unknown

MAIN_MEMORY, REMOTE_MEMORY = "DRAM", "remote DRAM"
# STREAM wants arrays of four times the last-level caches, and of 10 million elements.
TIMES_CACHES, STREAM_ELEMENTS = 4, 10_000_000
_SMALLEST_BUFFER = 64 * 1024 * 1024
_PAIR = 2
_DATA = ("data", "unified")


@dataclass(frozen=True)
class ThreadSet:
    """Threads for one run: a pinning policy, and how many CPUs it chooses."""

    count: int
    policy: str


@dataclass(frozen=True)
class Cache:
    """A cache of data: its size in bytes and the allowed CPUs that share it."""

    level: int
    size: int
    cpus: frozenset[int]


@dataclass(frozen=True)
class Domain:
    """A NUMA domain with memory: its number, and the allowed CPUs in it."""

    number: int
    cpus: frozenset[int]


@dataclass(frozen=True)
class Machine:
    """The cores and threads of each socket of a host, its caches, domains and disks."""

    host: str
    cores: tuple[int, ...]
    threads: tuple[int, ...]
    caches: tuple[Cache, ...]
    disks: frozenset[str] = frozenset()
    domains: tuple[Domain, ...] = ()

    def thread_sets(self, *, quick: bool) -> list[ThreadSet]:
        """Return the thread sets that the topology suggests; ``quick``: all cores only.

        As in the thesis: 1 and powers of two, the cores and the threads of a socket,
        and all cores and threads.
        """
        cores, threads = sum(self.cores), sum(self.threads)
        if quick:
            return [ThreadSet(cores, "compact-cores")]
        powers = [2**n for n in range(cores.bit_length()) if 2**n <= cores]
        of_cores = sorted({*powers, self.cores[0], cores})
        of_threads = sorted({self.threads[0], threads} - {*of_cores})
        return [
            *(ThreadSet(count, "compact-cores") for count in of_cores),
            *(ThreadSet(count, "compact") for count in of_threads),
        ]

    def rank_sets(self, *, quick: bool) -> list[ThreadSet]:
        """Return the sets for messages: pairs, near and far, and more as above."""
        pairs = ["compact-cores"] if sum(self.cores) > 1 else []
        if sum(self.threads) > sum(self.cores):
            pairs.append("compact")
        if len(self.cores) > 1:
            pairs.append("scatter")
        more = [each for each in self.thread_sets(quick=quick) if each.count > _PAIR]
        return [*(ThreadSet(_PAIR, policy) for policy in pairs), *more]

    def job_sets(self, *, quick: bool) -> list[ThreadSet]:
        """Return the sets for jobs that wait for a disk: one, and one on each core."""
        cores = sum(self.cores)
        counts = [1] if quick or cores == 1 else [1, cores]
        return [ThreadSet(count, "compact-cores") for count in counts]

    def cores_of(self, cpus: Iterable[int]) -> int:
        """Return the number of cores that CPUs are on: those with L1 caches apart."""
        chosen = {*cpus}
        first = min(cache.level for cache in self.caches)
        return sum(1 for one in self.caches if one.level == first and one.cpus & chosen)

    def last_level(self, cpus: Iterable[int]) -> int:
        """Return the bytes of all last-level caches that CPUs use."""
        last = max(cache.level for cache in self.caches)
        return sum(
            cache.size
            for cache in self.caches
            if cache.level == last and cache.cpus & {*cpus}
        )

    def levels(self, cpus: Sequence[int]) -> dict[str, int]:
        """Return the bytes that each of some CPUs goes over, by level of memory.

        A level's bytes are half of a CPU's share of the cache, or, if that is little
        more than the level below holds, the middle between both.
        """
        found: dict[str, int] = {}
        below = 0
        for level in sorted({cache.level for cache in self.caches}):
            share = min(self._shares(level, cpus), default=0)
            if share > below:
                half = share // 2
                found[f"L{level}"] = half if half >= 2 * below else (share + below) // 2
                below = share
        memory = TIMES_CACHES * self.last_level(cpus) // len(cpus)
        found[MAIN_MEMORY] = max(memory, _SMALLEST_BUFFER // len(cpus))
        return found

    def placed_levels(self, cpus: Sequence[int]) -> list[str]:
        """Return LEVEL:BYTES of each level, and LEVEL:BYTES@DOMAINS of remote ones."""
        sizes = self.levels(cpus)
        found = [f"{name}:{size}" for name, size in sizes.items()]
        if domains := self.remote_domains(cpus):
            placed = ",".join(map(str, domains))
            found.append(f"{REMOTE_MEMORY}:{sizes[MAIN_MEMORY]}@{placed}")
        return found

    def remote_domains(self, cpus: Iterable[int]) -> list[int]:
        """Return for each CPU, in ascending order, the domain after its own.

        Empty if there is no second domain, or if a CPU is in none.
        """
        numbers = [domain.number for domain in self.domains]
        after = dict(zip(numbers, [*numbers[1:], *numbers[:1]], strict=True))
        own = {cpu: each.number for each in self.domains for cpu in each.cpus}
        chosen = sorted(cpus)
        if len(numbers) < _PAIR or not own.keys() >= {*chosen}:
            return []
        return [after[own[cpu]] for cpu in chosen]

    def _shares(self, level: int, cpus: Sequence[int]) -> list[int]:
        """Return the share of each cache of a level for each CPU of a set."""
        return [
            cache.size // len(cache.cpus & {*cpus})
            for cache in self.caches
            if cache.level == level and cache.cpus & {*cpus}
        ]


def machine_of(twin: Endpoint, host: str) -> Machine:
    """Read a host from the graph; raises UnknownHostError, BenchmarkMachineError."""
    sockets = twin.table(saved_query("inventory/cpu").bind({"host": host})).records()
    if not sockets:
        _check_host(twin, host)
        raise BenchmarkMachineError(
            f"the sockets of {host} are not known: probe it again"
        )
    groups = twin.table(saved_query("cache/groups").bind({"host": host})).records()
    caches = tuple(
        Cache(int(row["level"]), int(row["size"]), _cpus(str(row["cpus"])))
        for row in groups
        if row["type"] in _DATA and row["size"] is not None
    )
    if not caches:
        raise BenchmarkMachineError(
            f"the sizes of the caches of {host} are not known: benchmarks of memory "
            "need them; `supertwin why` says which source is missing"
        )
    cores = tuple(int(row["cores"]) for row in sockets)
    threads = tuple(int(row["threads"]) for row in sockets)
    domains = tuple(_domains(twin, host))
    return Machine(host, cores, threads, caches, disks_of(twin, host), domains)


def _check_host(twin: Endpoint, host: str) -> None:
    rows = twin.table(saved_query("inventory/names").bind({})).records()
    if host not in (names := [str(row["host"]) for row in rows]):
        raise UnknownHostError(unknown(host, names))


def _domains(twin: Endpoint, host: str) -> Iterator[Domain]:
    rows = twin.table(saved_query("topology/numa").bind({"host": host})).records()
    for row in rows:
        if row["memory"]:
            yield Domain(int(row["numa"]), _cpus(str(row["cpus"] or "")))


def disks_of(twin: Endpoint, host: str) -> frozenset[str]:
    """Return the device names of a host's disks."""
    rows = twin.table(saved_query("inventory/disks").bind({"host": host})).records()
    return frozenset(str(row["device"]) for row in rows)


def _cpus(text: str) -> frozenset[int]:
    return frozenset(map(int, filter(None, text.split(","))))
