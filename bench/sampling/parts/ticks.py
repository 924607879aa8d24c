"""A period of 1 ms: ticks within 1 ms of their time."""

from collections.abc import Iterator, Mapping, Sequence

from bench.sampling.ground import Ground
from bench.sampling.part import Part
from bench.sampling.profiles import Profile
from bench.sampling.tables import markdown
from bench.sampling.ticks import Ticks, may_be_first, measure_ticks
from bench.table import Figure

# Which processes run under SCHED_FIFO, and the goal in %.
WHO = {"nobody": 98.0, "bridge": 99.0, "all": 99.0}
_TITLES = {
    "nobody": "normal",
    "bridge": "bridge SCHED_FIFO",
    "all": "bridge and PMCD SCHED_FIFO",
}


class TicksPart(Part[Ticks]):
    """A step is a choice of processes under SCHED_FIFO, if this user may set that."""

    name = "ticks"
    title = "Sampling: a period of 1 ms"
    gives = Ticks

    def steps(self, profile: Profile) -> list[str]:
        return list(WHO) if may_be_first() else ["nobody"]

    def measure(
        self, ground: Ground, profile: Profile, steps: Sequence[str]
    ) -> Iterator[tuple[str, Ticks]]:
        for step in steps:
            yield step, measure_ticks(ground, profile.ticks.seconds, step)

    def tables(self, found: Mapping[str, Ticks]) -> dict[str, str]:
        header = ["run", "due", "arrived", "within 1 ms", "% of due"]
        header += ["half: off by ms", "99 %", "99.9 %", "all"]
        rows = []
        for who, run in found.items():
            row = [_TITLES[who], f"{run.due:,}", f"{run.arrived:,}", f"{run.within:,}"]
            row += [f"{run.in_time:.2f}", *(f"{ms:.3f}" for ms in run.off)]
            rows.append(row)
        note = "" if "all" in found else (
            "SCHED_FIFO was not measured: it takes root, or CAP_SYS_NICE."
        )  # fmt: skip
        return {"8 metrics every ms": markdown([header, *rows]), "Left out": note}

    def goals(self, found: Mapping[str, Ticks]) -> list[Figure]:
        return [
            Figure(f"1 ms period, 8 metrics, {_TITLES[who]}: ticks within 1 ms",
                   run.in_time, "%", WHO[who], at_least=True)
            for who, run in found.items()
        ]  # fmt: skip
