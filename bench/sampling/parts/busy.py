"""Ticks that are kept on a busy machine, with normal and with raised priority."""

from collections.abc import Iterator, Mapping, Sequence

from bench.sampling.busy import LOOPS, Kept, measure_kept
from bench.sampling.ground import Ground
from bench.sampling.part import Part
from bench.sampling.profiles import Profile
from bench.sampling.tables import markdown
from bench.sampling.ticks import may_be_first
from bench.table import Figure
from core.linux.priority import NORMAL, REALTIME

# Periods in ms, and the goal in % with real-time priority.
GOALS = {10: 99.9, 1: 97.0}


class BusyPart(Part[Kept]):
    """A step is one run; the priorities take turns, so that both see the same load."""

    name = "busy"
    title = f"Sampling: ticks kept next to {LOOPS} busy loops"
    gives = Kept

    def steps(self, profile: Profile) -> list[str]:
        priorities = (NORMAL, REALTIME) if may_be_first() else (NORMAL,)
        return [
            f"{period} ms, {priority}, run {run}"
            for period in GOALS
            for run in range(1, profile.busy.runs + 1)
            for priority in priorities
        ]

    def measure(
        self, ground: Ground, profile: Profile, steps: Sequence[str]
    ) -> Iterator[tuple[str, Kept]]:
        for step in steps:
            period, priority = _parts_of(step)
            yield step, measure_kept(ground, profile.busy.seconds, period, priority)

    def tables(self, found: Mapping[str, Kept]) -> dict[str, str]:
        header = ["run", "due", "arrived", "kept", "% of due"]
        header += ["half: off by ms", "99 %", "all"]
        rows = []
        for step, run in found.items():
            row = [step, f"{run.due:,}", f"{run.arrived:,}", f"{run.kept:,}"]
            rows.append([*row, f"{run.share:.2f}", *(f"{ms:.3f}" for ms in run.off)])
        return {"8 metrics, fetched within half a period": markdown([header, *rows])}

    def goals(self, found: Mapping[str, Kept]) -> list[Figure]:
        shares: dict[int, list[float]] = {}
        for step, run in found.items():
            period, priority = _parts_of(step)
            if priority == REALTIME:
                shares.setdefault(period, []).append(run.share)
        return [
            Figure(f"{period} ms period, {LOOPS} busy loops, real time: ticks kept",
                   min(all_), "%", GOALS[period], at_least=True)
            for period, all_ in shares.items()
        ]  # fmt: skip


def _parts_of(step: str) -> tuple[int, str]:
    period, priority, _ = step.split(", ")
    return int(period.removesuffix(" ms")), priority
