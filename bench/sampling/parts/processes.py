"""Processes read from the kernel by BPF, next to the same plan read through PCP.

Bridge, PMCD and its agents have the priority that `supertwin up` gives them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.sampling.ground import Ground, period_of
from bench.sampling.idle import idle_processes
from bench.sampling.part import Part
from bench.sampling.profiles import PROCESSES, Profile
from bench.sampling.tables import markdown
from bench.sampling.throughput import METRICS, Race, Side
from bench.sampling.ticks import may_be_first, under_fifo
from bench.sampling.usage import agents
from bench.table import Figure
from core.linux.priority import FETCHING, NORMAL, REALTIME
from core.settings.tools import PROCESS_READER

_SOURCES = {"PCP": None, "kernel": PROCESS_READER}
_AT = 64
# Points a second: what pcp2influxdb delivers here, ten times.
_GOAL = 1_500_000
_CPU = ("bridge", "reader", "pmcd", "pmdaproc", "store")


@dataclass(frozen=True)
class Delivered:
    """The points of one run; ``hertz`` is how often they were asked for a second."""

    hertz: int
    side: Side

    @property
    def asked(self) -> float:
        """Requested points a second."""
        return self.side.expected / self.side.seconds


class ProcessesPart(Part[Delivered]):
    """A step is ``HZ Hz, SOURCE``."""

    name = "processes"
    title = f"Sampling: {len(METRICS)} metrics of {PROCESSES:,} processes, by source"
    gives = Delivered

    def steps(self, profile: Profile) -> list[str]:
        wanted = profile.processes.hertz
        return [f"{hertz} Hz, {source}" for hertz in wanted for source in _SOURCES]

    def measure(
        self, ground: Ground, profile: Profile, steps: Sequence[str]
    ) -> Iterator[tuple[str, Delivered]]:
        first = may_be_first()
        pcp = [ground.pmcd.pid, *agents(ground.pmcd).values()] if first else []
        priority = REALTIME if first else NORMAL
        with idle_processes(PROCESSES) as pids, under_fifo(pcp, FETCHING):
            race = Race(ground, pids, profile.processes.seconds)
            for step in steps:
                hertz, source = step.split(" Hz, ")
                period_ms = period_of(int(hertz))
                side = race.ours(METRICS, period_ms, _SOURCES[source], priority)
                yield step, Delivered(int(hertz), side)

    def tables(self, found: Mapping[str, Delivered]) -> dict[str, str]:
        header = ["asked", "points/s asked", "inserted", "lost %", "points/s"]
        header += ["not yet sent", *(f"{name}: CPU %" for name in _CPU)]
        rows = [_row(step, run) for step, run in found.items()]
        return {"The same plan from two sources": markdown([header, *rows])}

    def goals(self, found: Mapping[str, Delivered]) -> list[Figure]:
        kernel = [run for step, run in found.items() if step.endswith("kernel")]
        pcp = {run.hertz: run for step, run in found.items() if step.endswith("PCP")}
        lost = [
            Figure(f"processes at {run.hertz} Hz, from the kernel: lost",
                   run.side.lost, "%", 0, pcp[run.hertz].side.lost, "through PCP")
            for run in kernel
            if run.hertz <= _AT and run.hertz in pcp
        ]  # fmt: skip
        best = max((run.side.rate for run in kernel), default=0.0)
        most = max((run.side.rate for run in pcp.values()), default=None)
        return [
            *lost,
            Figure("processes from the kernel: most points", best, "/s", _GOAL, most,
                   "through PCP", at_least=True),
        ]  # fmt: skip


def _row(step: str, run: Delivered) -> list[str]:
    side = run.side
    usage = [side.usage.get(name) for name in _CPU]
    return [
        step,
        f"{run.asked:,.0f}",
        f"{side.counted.inserted:,}",
        f"{side.lost:.2f}",
        f"{side.rate:,.0f}",
        f"{side.waiting:,}",
        *(f"{one.cpu:.1f}" if one else "" for one in usage),
    ]
