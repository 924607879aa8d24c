"""What sampling costs applications: figure 5.6 of the thesis, with intervals."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from bench.sampling import profiles
from bench.sampling.applications import applications, lacking
from bench.sampling.ground import Ground
from bench.sampling.overhead import (
    AGAIN,
    NOTHING,
    Cell,
    Stretch,
    measure_stretches,
    step_names,
)
from bench.sampling.part import Part
from bench.sampling.profiles import Profile
from bench.sampling.slowdown import labels, longer, noise_of, noises, overall, pairs
from bench.sampling.stats import mean, typical
from bench.sampling.tables import markdown
from bench.sampling.usage import of_pcp
from bench.table import Figure

AIM = Cell(1000, series=1000)
_AIM_PERCENT = 0.2


class StretchPart(Part[Stretch]):
    """A step is a stretch of a repetition: ``REPETITION.STRETCH``."""

    gives = Stretch

    @abstractmethod
    def cells(self, profile: Profile) -> list[Cell | None]:
        """Every cell; None is the second run without sampling."""

    def applications(self, profile: Profile) -> Sequence[str]:
        """The applications that run in each cell."""
        names: Sequence[str] = self.wanted(profile).applications
        return names

    def steps(self, profile: Profile) -> list[str]:
        wanted = self.wanted(profile)
        return step_names(self.cells(profile), wanted.stretch, wanted.runs)

    def measure(
        self, ground: Ground, profile: Profile, steps: Sequence[str]
    ) -> Iterator[tuple[str, Stretch]]:
        work = applications(self.applications(profile), ground.folder / "applications")
        cells, size = self.cells(profile), self.wanted(profile).stretch
        yield from measure_stretches(ground, cells, size, work, steps)


class OverheadPart(StretchPart):
    """Figure 5.6: periods and numbers of metrics, with and without shipping."""

    name = "overhead"
    title = "Sampling: what applications lose"

    def cells(self, profile: Profile) -> list[Cell | None]:
        return cells_of(profile.overhead)

    def tables(self, found: Mapping[str, Stretch]) -> dict[str, str]:
        stretches = list(found.values())
        return {
            "Longer by %, with 95 % intervals": table_overhead(stretches),
            "Not measured": _left_out(stretches),
            "The noise loop, in steps of 2 %": table_noise(stretches),
        }

    def plots(self, found: Mapping[str, Stretch]) -> dict[str, Callable[[Path], None]]:
        from bench.sampling import plots_overhead

        stretches = list(found.values())
        return {
            "overhead.svg": lambda path: plots_overhead.plot_overhead(stretches, path),
            "overhead-noise.svg": lambda path: plots_overhead.plot_noise(
                stretches, path
            ),
        }

    def goals(self, found: Mapping[str, Stretch]) -> list[Figure]:
        stretches = list(found.values())
        rows = []
        for cell in (AIM.label, AGAIN):
            if one := overall(stretches, cell):
                goal = _AIM_PERCENT if cell == AIM.label else None
                name = f"applications take longer, {cell}"
                note = f"{one} (95 %), {one.number} runs"
                rows.append(Figure(name, one.value, "%", goal, None, note))
        return rows


def cells_of(wanted: profiles.Overhead) -> list[Cell | None]:
    """Every cell; None is the second run without sampling."""
    ways = (True, False) if wanted.both_ways else (True,)
    cells: list[Cell | None] = [
        Cell(period_ms, metrics=number, shipped=shipped)
        for period_ms in wanted.periods
        for number in wanted.metrics
        for shipped in ways
    ]
    aims = [Cell(AIM.period_ms, series=AIM.series, shipped=way) for way in ways]
    return [*cells, *aims, None]


def table_overhead(stretches: Sequence[Stretch]) -> str:
    """One row a cell; the last columns give the usage of the sampling processes."""
    names = list(stretches[0].runs[0].seconds)
    names = sorted(names, key=list(profiles.FULL.overhead.applications).index)
    header = ["sampled", "runs", *names, "all", "all, mean"]
    header += ["bridge: CPU %", "PMCD and agents", "store", "values fetched %"]
    rows = [_row(stretches, cell, names) for cell in labels(stretches)]
    return markdown([header, *rows])


def _row(stretches: Sequence[Stretch], cell: str, names: Sequence[str]) -> list[str]:
    runs = [run for run, _ in pairs(stretches, cell)]
    each = [longer(stretches, cell, name) for name in names]
    row = [cell, str(len(runs)), *(str(one or "") for one in each)]
    row += [str(overall(stretches, cell, of) or "") for of in (typical, mean)]
    pcp = fmean(of_pcp(run.usage) for run in runs)
    store = fmean(run.usage["store"].cpu for run in runs)
    if cell == AGAIN:
        return [*row, "", f"{pcp:.2f}", f"{store:.2f}", ""]
    bridge = fmean(run.usage["bridge"].cpu for run in runs)
    kept = fmean(run.kept for run in runs)
    return [*row, f"{bridge:.2f}", f"{pcp:.2f}", f"{store:.2f}", f"{kept:.1f}"]


def _left_out(stretches: Sequence[Stretch]) -> str:
    there = {name for stretch in stretches for name in stretch.runs[0].seconds}
    gone = lacking([n for n in profiles.FULL.overhead.applications if n not in there])
    return "\n".join(f"- {name}: there is no {what}" for name, what in gone.items())


def table_noise(stretches: Sequence[Stretch]) -> str:
    """How long a piece of fixed work takes."""
    header = ["sampled", "pieces", "half: µs", "99 %", "99.9 %", "longest"]
    header += ["above the run's quickest, % of the time"]
    rows = []
    for cell in [NOTHING, *labels(stretches)]:
        pieces = noise_of(stretches, cell)
        if pieces:
            quantiles = [quantile(pieces, q) for q in (0.5, 0.99, 0.999, 1.0)]
            row = [cell, f"{pieces.total():,}", *(f"{q:,}" for q in quantiles)]
            rows.append([*row, f"{_lost(noises(stretches, cell)):.2f}"])
    return markdown([header, *rows]) if rows else ""


def quantile(pieces: Mapping[int, int], share: float) -> int:
    """The time that this share of the pieces does not exceed."""
    left = share * sum(pieces.values())
    for micros in sorted(pieces):
        left -= pieces[micros]
        if left <= 1e-9:
            return micros
    raise AssertionError("no pieces")


def _lost(runs: Sequence[Mapping[int, int]]) -> float:
    """Time beyond the fastest piece of each run, as processors differ."""
    total = sum(us * number for pieces in runs for us, number in pieces.items())
    least = sum(min(pieces) * sum(pieces.values()) for pieces in runs)
    return 100 * (1 - least / total)
