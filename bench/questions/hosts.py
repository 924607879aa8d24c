"""Makes up hosts, with everything that happened on them in the last hours."""

import random
import time
from collections.abc import Iterator

from bench.questions.facts import (
    GIB,
    Disk,
    Host,
    Job,
    Launch,
    Nic,
    Series,
    Shape,
    World,
)
from bench.questions.levels import PERIOD, Level, Span

SHAPES = (
    Shape("Acme 8 of 2 sockets", ("avx2", "avx512f")),
    Shape("Acme 8 of shared caches", ("avx2",), 1, 2, 1, 2, 2, 1, 16 * GIB),
    Shape("Bolt 4 of 4 domains", ("avx2", "avx512f"), 2, 2, 1, 2, 1, 2, 8 * GIB),
)
USERS = ("alice", "bob", "carol", "dave")
COMMANDS = (("./solver", "-n", "4"), ("stream", "--large"), ("./solver", "-n", "8"))
FIRST_JOB = 4711
# Far from the thresholds of all questions.
_BUSY, _HALF, _LOW, _IDLE = 0.95, 0.55, 0.25, 0.02
_PARTITIONS = ("batch", "batch", "gpu")


def make_world(seed: int = 1, hosts: int = 6, now: float | None = None) -> World:
    """Hosts up to now, the same for the same arguments; the last is not sampled."""
    end = int((time.time() if now is None else now) // PERIOD * PERIOD)
    made = [_Maker(seed, number, end, hosts).host() for number in range(hosts)]
    return World(end, made)


class _Maker:
    """Makes one host, by its number."""

    def __init__(self, seed: int, number: int, end: int, hosts: int) -> None:
        self.random = random.Random(f"{seed}/{number}")
        self.number, self.end, self.hosts = number, end, hosts
        self.shape = SHAPES[number % len(SHAPES)]
        self.is_sampled = number < hosts - 1

    def host(self) -> Host:
        """The whole host."""
        number = self.number
        jobs = list(self._jobs()) if self.is_sampled else []
        day = 1 + 3 * number % 28
        return Host(
            name=f"n{number + 1}",
            shape=self.shape,
            kernel="6.12.0" if number % 5 == 3 else "6.1.0-32-amd64",
            bios="2.0" if number % 5 == 2 else "1.4",
            partition=_PARTITIONS[number % len(_PARTITIONS)],
            probed=f"2026-10-{day:02}T06:00:00Z",
            nics=self._nics(),
            disks=[
                Disk("nvme0n1", 3_840_755_982_336, rotational=False),
                Disk("sda", 8_001_563_222_016, rotational=True),
            ],
            series=dict(self._series(jobs)) if self.is_sampled else {},
            jobs=jobs,
            runs=self._runs() if self.is_sampled else (),
        )

    def _nics(self) -> list[Nic]:
        last, number = self.shape.count("domain") - 1, self.number
        return [
            Nic(
                "eth0",
                25_000_000_000 if number % 4 else 10_000_000_000,
                "mlx5_core",
                f"192.0.2.{number + 1}",
                "0000:01:00.0",
                0,
            ),
            Nic("ib0", 100_000_000_000, "ib_ipoib", "", "0000:81:00.0", last),
        ]

    def _jobs(self) -> Iterator[Job]:
        """Two that share a thread, and one that ended; two hosts share the first."""
        shape, number, minute = self.shape, self.number, 60
        pair = number // 2
        first = shape.of("socket", 0)[: shape.in_socket // 2]
        second = [first[-1], shape.of("domain", shape.count("domain") - 1)[-1]]
        yield Job(
            str(FIRST_JOB + pair),
            USERS[pair % len(USERS)],
            tuple(first),
            self.end - (80 + pair) * minute,
        )
        yield Job(
            str(FIRST_JOB + 100 + number),
            USERS[(number + 1) % len(USERS)],
            tuple(second),
            self.end - (95 + number) * minute,
            memory_limit=4 * GIB,
            cpu_limit=0.5,
        )
        yield Job(
            str(FIRST_JOB + 200 + number),
            USERS[(number + 2) % len(USERS)],
            tuple(first),
            self.end - (150 - number % 20) * minute,
            self.end - (25 + 5 * (number % 4)) * minute,
        )

    def _runs(self) -> list[Launch]:
        """Two that overlap, and a later one, which failed on some hosts."""
        shape, id_ = self.shape, f"run-{self.number + 1}"
        l2 = tuple(shape.of("l2", 0))
        later = tuple(shape.of("socket", shape.sockets - 1)[:2])
        spans = [
            Span(self.end - 60 * first, self.end - 60 * last)
            for first, last in ((120, 110), (115, 100), (45, 35))
        ]
        return [
            Launch(f"{id_}a", COMMANDS[0], l2, spans[0]),
            Launch(f"{id_}b", COMMANDS[1], later, spans[1], policy="scatter"),
            Launch(f"{id_}c", COMMANDS[2], l2, spans[2], exit=self.number % 2),
        ]

    def _series(self, jobs: list[Job]) -> Iterator[tuple[Series, Level]]:
        yield from self._of_threads(jobs)
        yield from self._of_memory()
        yield from self._of_devices()
        yield from self._of_sensors()
        for job in jobs:
            if job.ended is None:
                yield from self._of_job(job)

    def _level(self, usual: float, peak: float | None = None, **more: object) -> Level:
        return Level(self.end, usual, peak, **more)  # type: ignore[arg-type]

    def _of_threads(self, jobs: list[Job]) -> Iterator[tuple[Series, Level]]:
        shape, choose = self.shape, self.random
        taken = set(jobs[0].cpus)
        # Siblings and neighbours alike, so that some cores are crowded.
        of_core = [choose.choice((_IDLE, _IDLE, _LOW, _HALF)) for _ in range(99)]
        load = 0.0
        for cpu in shape.cpus:
            core = shape.place(cpu, "core")
            cores = {shape.place(each, "core") for each in taken}
            busy = _BUSY if core in cores else of_core[core]
            load += busy
            idle = round(1000 * (1 - busy), 6)
            yield ("kernel.percpu.cpu.idle", f"cpu{cpu}"), self._level(idle)
            user = self._level(round(800 * busy, 6))
            yield ("kernel.percpu.cpu.user", f"cpu{cpu}"), user
            faults = choose.choice((20.0, 150.0, 400.0))
            high = 5000.0 if choose.random() < 0.2 else None
            name = "perfevent.hwcounters.perf__PAGE_FAULTS.value"
            yield (name, f"cpu{cpu}"), self._level(faults, high)
        threads = len(shape.cpus)
        high = 2.5 * threads if self.number % 3 == 1 else None
        for minutes in (1, 5, 15):
            value = self._level(round(load, 3), high if minutes == 1 else None)
            yield ("kernel.all.load", f"{minutes} minute"), value

    def _of_memory(self) -> Iterator[tuple[Series, Level]]:
        shape, choose = self.shape, self.random
        kibibytes = shape.count("domain") * shape.memory // 1024
        short = round(0.03 * kibibytes) if self.number % 3 == 0 else None
        free = round(choose.choice((0.4, 0.6, 0.7)) * kibibytes)
        yield ("mem.util.free", None), self._level(free, short)
        for domain in range(shape.count("domain")):
            share = choose.choice((0.2, 0.5, 0.8))
            level = self._level(round(share * shape.memory / 1024))
            yield ("mem.numa.util.free", f"node{domain}"), level
            misses = choose.choice((0.0, 0.0, 40.0, 900.0))
            yield ("mem.numa.alloc.miss", f"node{domain}"), self._level(misses)

    def _of_devices(self) -> Iterator[tuple[Series, Level]]:
        choose = self.random
        for nic in self._nics():
            for way in ("in", "out"):
                share = choose.choice((0.001, 0.05, 0.2))
                rate = round(share * nic.speed / 8)
                high = round(0.9 * nic.speed / 8) if choose.random() < 0.3 else None
                name = f"network.interface.{way}.bytes"
                yield (name, nic.name), self._level(rate, high)
                errors = choose.choice((0.0, 0.0, 0.0, 0.5))
                name = f"network.interface.{way}.errors"
                yield (name, nic.name), self._level(errors)
        for disk in ("nvme0n1", "sda"):
            active = choose.choice((5.0, 200.0, 700.0))
            yield ("disk.dev.avactive", disk), self._level(active)
            gap = (
                Span(self.end - 3000, self.end - 2400) if self._has_gap(disk) else None
            )
            yield ("disk.dev.read_bytes", disk), self._level(4096.0, gap=gap)
            until = self.end - 1500 if self._has_gap(disk, 2) else None
            yield ("disk.dev.write_bytes", disk), self._level(2048.0, until=until)

    def _has_gap(self, disk: str, one_of: int = 3) -> bool:
        return disk == "sda" and self.number % one_of == 0

    def _of_sensors(self) -> Iterator[tuple[Series, Level]]:
        choose = self.random
        for socket in range(self.shape.sockets):
            usual = choose.choice((45.0, 60.0, 70.0))
            high = 97.0 if choose.random() < 0.4 else None
            name = f"lmsensors.coretemp-isa-000{socket}.package_id"
            yield (name, None), self._level(usual, high)
            watts = choose.choice((60.0, 110.0, 180.0))
            name = f"{socket}-package-{socket}"
            yield ("denki.rapl.rate", name), self._level(watts, 1.5 * watts)

    def _of_job(self, job: Job) -> Iterator[tuple[Series, Level]]:
        choose, since, prefix = self.random, job.began, "supertwin.cgroup."
        used = choose.choice((0.1, 0.3, 0.9)) * len(job.cpus)
        name = f"{prefix}cpu.usage"
        yield (name, job.path), self._level(round(used * 1e9), since=since)
        share = choose.choice((0.2, 0.5, 0.96))
        name = f"{prefix}memory.usage"
        yield (
            (name, job.path),
            self._level(round(share * job.memory_limit), since=since),
        )
        waits = 3e8 if job.cpu_limit and choose.random() < 0.6 else 0.0
        name = f"{prefix}cpu.throttled_time"
        yield (name, job.path), self._level(waits, since=since)
