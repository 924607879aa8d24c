"""DCDB's grid of sensors and intervals: overhead, CPU and memory of each cell."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.sampling import profiles
from bench.sampling.applications import lacking
from bench.sampling.overhead import AGAIN, Cell, Stretch
from bench.sampling.parts.overhead import StretchPart
from bench.sampling.profiles import Profile
from bench.sampling.sensor_grid import Grid
from bench.sampling.slowdown import overall
from bench.sampling.stats import mean, typical

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
