"""The soak: the bridge's account and the store's, and the bridge's CPU and memory."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.sampling.ground import Ground
from bench.sampling.idle import idle_processes
from bench.sampling.part import Part
from bench.sampling.profiles import PROCESSES, Profile
from bench.sampling.soak import PACE, PERIOD_MS, Soaked, measure_soak
from bench.sampling.tables import markdown
from bench.table import Figure

_STEP = "soak"
# A pace this close to 100,000 points/s is not scaled; a slower one is.
_NEAR = 0.95
# The limit in MB/h; shorter runs than half an hour are too short to check it.
_FLAT, _LONG = 20, 1800


class SoakPart(Part[Soaked]):
    """The part has one step."""

    name = "soak"
    title = "Sampling: a soak, with servers killed"
    gives = Soaked

    def steps(self, profile: Profile) -> list[str]:
        return [_STEP]

    def measure(
        self, ground: Ground, profile: Profile, steps: Sequence[str]
    ) -> Iterator[tuple[str, Soaked]]:
        for step in steps:
            with idle_processes(PROCESSES):
                yield step, measure_soak(ground, PROCESSES, profile.soak, print)

    def tables(self, found: Mapping[str, Soaked]) -> dict[str, str]:
        run = found[_STEP]
        return {
            "The account": table_account(run),
            "Missing": table_missing(run),
            "What was killed": table_kills(run),
        }

    def plots(self, found: Mapping[str, Soaked]) -> dict[str, Callable[[Path], None]]:
        from bench.sampling.plots import plot_soak

        return {"soak-memory.svg": lambda path: plot_soak(found[_STEP], path)}

    def goals(self, found: Mapping[str, Soaked]) -> list[Figure]:
        run = found[_STEP]
        growth = run.growth()
        gone = abs(run.stored.points - run.written)
        soak = f"soak of {run.seconds:,.0f} s"
        return [
            Figure(f"{soak}: points in the store that differ from written", gone, "",
                   0, run.written, "written"),
            Figure(f"{soak}: points without an account", abs(run.open), "", 0),
            Figure(f"{soak}: points twice, or impossible",
                   run.stored.twice + run.stored.impossible, "", 0),
            Figure(f"{soak}: ticks that store and account differ by, worst look",
                   max(abs(lacks - missed) for lacks, missed in run.ticks()), "", 0,
                   len(run.stored.absent), "absent, of idle processes"),
            Figure(f"{soak}: points that some idle processes lack, and others have",
                   run.stored.uneven, "", 0),
            *cpu_at_pace(*run.calm()),
            Figure("bridge: resident memory, most", max(m.rss for m in run.moments),
                   "MB", 150),
            Figure("bridge: growth of memory, at most (95 %)",
                   growth.value + growth.within, "MB/h",
                   _FLAT if run.seconds >= _LONG else None, None, f"{growth}"),
        ]  # fmt: skip


def cpu_at_pace(cpu: float, rate: float) -> list[Figure]:
    """The row of CPU: measured at the pace, or scaled to it, as its title says."""
    if not rate:
        return []
    if rate >= _NEAR * PACE:
        title = f"bridge: CPU of one core, measured at {rate:,.0f} points/s"
        return [Figure(title, cpu, "%", 8)]
    title = f"bridge: CPU of one core at {PACE:,} points/s, SCALED from {rate:,.0f}"
    return [Figure(title, cpu * PACE / rate, "%", 8)]


def table_account(run: Soaked) -> str:
    """The bridge's account, and the points found in the store."""
    cpu, rate = run.calm()
    lacks, missed = run.ticks()[-1]
    rows = [
        ("expected", f"{run.expected:,}"),
        ("written, says the bridge", f"{run.written:,}"),
        ("points in the store, counted", f"{run.stored.points:,}"),
        ("series", f"{run.stored.series:,}"),
        ("missing, says the bridge", f"{sum(run.missing.values()):,}"),
        ("left in the log", f"{run.waiting:,}"),
        ("neither written nor missing nor left", f"{run.open:,}"),
        ("twice in the store", f"{run.stored.twice:,}"),
        ("impossible", f"{run.stored.impossible:,}"),
        (
            "ticks absent in the store, of idle processes, at the last look",
            f"{lacks:,}",
        ),
        ("ticks missing then, by the bridge's account", f"{missed:,}"),
        ("points that some idle processes lack", f"{run.stored.uneven:,}"),
        ("sent again", f"{run.resent:,}"),
        ("period, ms", str(PERIOD_MS)),
        ("calm stretches: points/s", f"{rate:,.0f}"),
        ("calm stretches: CPU of the bridge, % of a core", f"{cpu:.2f}"),
        ("memory, MB an hour (95 %)", str(run.growth())),
    ]
    return markdown([("what", f"in {run.seconds:,.0f} s"), *rows])


def table_missing(run: Soaked) -> str:
    """Missing points by reason, and the equivalent time at the expected pace."""
    seconds = (run.stored.last_ms - run.stored.first_ms) / 1000 or run.seconds
    pace = run.expected / seconds
    rows = [
        (reason, f"{points:,}", f"{points / pace:.2f}")
        for reason, points in run.missing.items()
    ]
    return markdown([("reason", "points", "seconds' worth"), *rows]) if rows else ""


def table_kills(run: Soaked) -> str:
    """What was killed, how long it was down, and the backlog afterwards."""
    header = ("killed with -9", "started again after s", "points waiting, most")
    rows = [
        (
            outage.kill.what,
            f"{(outage.kill.started_ms - outage.kill.dead_ms) / 1000:.1f}",
            f"{outage.waiting:,}",
            f"{outage.log_bytes / 1e6:,.0f}",
            "never" if outage.caught_up is None else f"{outage.caught_up:.0f}",
        )
        for outage in run.outages()
    ]
    return markdown([(*header, "log, most: MB", "caught up after s"), *rows])
