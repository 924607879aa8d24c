"""Figures 5.1 to 5.4: CPU, memory and network by frequency and number of metrics."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.sampling.ground import Ground
from bench.sampling.idle import idle_processes
from bench.sampling.part import Part
from bench.sampling.profiles import PROCESSES, Profile
from bench.sampling.resources import Taken, measure_resources
from bench.sampling.tables import markdown

PARTS = ("pmcd", "pmdalinux", "pmdaproc", "bridge", "store")


class ResourcesPart(Part[Taken]):
    """A step is a cell: ``HZxMETRICS``."""

    name = "resources"
    title = "Sampling: CPU, memory and network of PMCD and its agents"
    gives = Taken

    def steps(self, profile: Profile) -> list[str]:
        wanted = profile.resources
        return [f"{hertz}x{n}" for n in wanted.metrics for hertz in wanted.hertz]

    def measure(
        self, ground: Ground, profile: Profile, steps: Sequence[str]
    ) -> Iterator[tuple[str, Taken]]:
        cells = [(int(h), int(n)) for h, n in (step.split("x") for step in steps)]
        with idle_processes(PROCESSES):
            found = measure_resources(ground, cells, profile.resources.seconds)
            yield from zip(steps, found, strict=True)

    def tables(self, found: Mapping[str, Taken]) -> dict[str, str]:
        return {"Figures 5.1 to 5.4": table_resources(list(found.values()))}

    def plots(self, found: Mapping[str, Taken]) -> dict[str, Callable[[Path], None]]:
        from bench.sampling import plots

        cells = list(found.values())
        return {
            "resources-cpu.svg": lambda path: plots.plot_cpu(cells, path),
            "resources-memory.svg": lambda path: plots.plot_rss(cells, path),
            "resources-network.svg": lambda path: plots.plot_network(cells, path),
        }


def table_resources(cells: Sequence[Taken]) -> str:
    """CPU in % of one core, memory in MB, PMCD's traffic to clients in kB/s."""
    header = ["metrics", "Hz", "points/s", "PMCD passes on kB/s"]
    header += [f"{name}: CPU %" for name in PARTS] + [f"{name}: MB" for name in PARTS]
    rows = []
    for cell in cells:
        row = [str(cell.metrics), str(cell.hertz)]
        row += [f"{cell.points:,.0f}", f"{cell.network:,.1f}"]
        row += [f"{cell.usage[name].cpu:.2f}" for name in PARTS]
        rows.append(row + [f"{cell.usage[name].rss:.1f}" for name in PARTS])
    return markdown([header, *rows])
