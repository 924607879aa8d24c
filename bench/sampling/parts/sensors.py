"""DCDB's grid of sensors and intervals: overhead, CPU and memory of each cell."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.sampling import profiles
from bench.sampling.applications import lacking
from bench.sampling.overhead import AGAIN, Cell, Run, Stretch
from bench.sampling.parts.overhead import StretchPart, labels, overall, pairs
from bench.sampling.profiles import Profile
from bench.sampling.stats import mean, typical
from bench.sampling.tables import markdown
from bench.sampling.usage import of_pcp

# The replacement for an application that is missing.
_INSTEAD = ("ep",)


class SensorsPart(StretchPart):
    """Numbers of series and intervals, with the single application of DCDB's grid."""

    name = "sensors"
    title = "Sampling: sensors and intervals, as DCDB measured them"

    def cells(self, profile: Profile) -> list[Cell | None]:
        return cells_of(profile.sensors)

    def applications(self, profile: Profile) -> Sequence[str]:
        names = super().applications(profile)
        return _INSTEAD if lacking(names) else names

    def tables(self, found: Mapping[str, Stretch]) -> dict[str, str]:
        grid = Grid(list(found.values()))
        names = " and ".join(grid.stretches[0].runs[0].seconds)
        again = [overall(grid.stretches, AGAIN, of) for of in (typical, mean)]
        return {
            f"{names} takes longer by %, with 95 % intervals": grid.table(
                grid.overhead
            ),
            "The same, means": grid.table(grid.mean_overhead),
            "The same where nothing is sampled again": (
                f"{again[0]} %, mean {again[1]} %" if all(again) else ""
            ),
            "CPU of the bridge, % of a core": grid.table(grid.cpu),
            "CPU of PMCD and its agents, % of a core": grid.table(grid.agents),
            "Memory of the bridge, MB": grid.table(grid.memory),
            "Values fetched, % of those expected": grid.table(grid.kept),
        }

    def plots(self, found: Mapping[str, Stretch]) -> dict[str, Callable[[Path], None]]:
        from bench.sampling.plots_overhead import plot_grid

        grid = Grid(list(found.values()))
        return {"sensors.svg": lambda path: plot_grid(grid, path)}


def cells_of(wanted: profiles.Sensors) -> list[Cell | None]:
    """Every cell, and the second run without sampling."""
    return [
        *(Cell(p, series=n) for p in wanted.periods for n in wanted.series),
        None,
    ]


class Grid:
    """The measured cells, by period (ms) and number of series."""

    def __init__(self, stretches: Sequence[Stretch]) -> None:
        self.stretches = stretches
        there = [label for label in labels(stretches) if label != AGAIN]
        words = [label.replace(",", "").split() for label in there]
        self.periods = sorted({int(word[3]) for word in words}, reverse=True)
        self.series = sorted({int(word[0]) for word in words})

    def table(self, value: Callable[[str], str]) -> str:
        """One row for each number of series, one column for each interval."""
        header = ["series", *(f"{period} ms" for period in self.periods)]
        rows = [
            [
                f"{number:,}",
                *(value(Cell(p, series=number).label) for p in self.periods),
            ]
            for number in self.series
        ]
        return markdown([header, *rows])

    def overhead(self, cell: str) -> str:
        """Overhead in %."""
        return str(overall(self.stretches, cell) or "")

    def mean_overhead(self, cell: str) -> str:
        """Mean overhead in %."""
        return str(overall(self.stretches, cell, mean) or "")

    def cpu(self, cell: str) -> str:
        """CPU of the bridge in % of one core."""
        return self._mean(cell, lambda run: run.usage["bridge"].cpu)

    def agents(self, cell: str) -> str:
        """CPU of PMCD and its agents in % of one core."""
        return self._mean(cell, lambda run: of_pcp(run.usage))

    def memory(self, cell: str) -> str:
        """Memory of the bridge in MB."""
        return self._mean(cell, lambda run: run.usage["bridge"].rss)

    def kept(self, cell: str) -> str:
        """Values fetched, in % of the expected ones."""
        return self._mean(cell, lambda run: run.kept)

    def _mean(self, cell: str, value: Callable[[Run], float]) -> str:
        values = [value(run) for run, _ in pairs(self.stretches, cell)]
        return f"{sum(values) / len(values):.2f}" if values else ""
