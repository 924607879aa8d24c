"""Tables 5.2 and 5.3 in comparison with pcp2influxdb, and their plot."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.sampling import thesis
from bench.sampling.ground import Ground
from bench.sampling.idle import idle_processes
from bench.sampling.part import Part
from bench.sampling.profiles import PROCESSES, Profile
from bench.sampling.tables import markdown
from bench.sampling.throughput import Cell, Race, Side
from bench.table import Figure

_COMPETITORS = ("ours", "pcp2influxdb")


class ThroughputPart(Part[Cell]):
    """A step is a row: ``HZxMETRICSxFILES``."""

    name = "throughput"
    title = "Sampling: points that arrive, and false zeros"
    gives = Cell

    def steps(self, profile: Profile) -> list[str]:
        return ["x".join(map(str, row)) for row in profile.throughput.rows]

    def measure(
        self, ground: Ground, profile: Profile, steps: Sequence[str]
    ) -> Iterator[tuple[str, Cell]]:
        with idle_processes(PROCESSES) as pids:
            race = Race(ground, pids, profile.throughput.seconds)
            for step in steps:
                hertz, number, files = map(int, step.split("x"))
                yield step, race.cell(hertz, number, files)

    def tables(self, found: Mapping[str, Cell]) -> dict[str, str]:
        cells = list(found.values())
        return {
            "Table 5.2": table_5_2(cells),
            "Table 5.3: false zeros": table_5_3(cells),
            "What the bridge says is missing": table_missing(cells),
            "CPU and memory meanwhile": table_usage(cells),
        }

    def plots(self, found: Mapping[str, Cell]) -> dict[str, Callable[[Path], None]]:
        # Imported here because the quick profile runs without matplotlib.
        from bench.sampling.plots import plot_throughput

        cells = list(found.values())
        return {"throughput.svg": lambda path: plot_throughput(cells, path)}

    def goals(self, found: Mapping[str, Cell]) -> list[Figure]:
        cells = list(found.values())
        below = [cell for cell in cells if cell.hertz < 64]
        zeros = sum(cell.ours.counted.zeros for cell in cells)
        peers = sum(cell.peer.counted.zeros for cell in cells)
        figures = [Figure("false zeros", zeros, "", 0, peers, "pcp2influxdb")]
        for files in sorted({cell.files for cell in below}):
            some = [cell for cell in below if cell.files == files]
            title = f"lost below 64 Hz, worst row, {_files(files)}"
            figures.append(Figure(title, _worst(some, "ours"),
                "%", 0, _worst(some, "peer"), "pcp2influxdb's worst row"))  # fmt: skip
        at_64 = [cell for cell in cells if cell.hertz == 64]
        return figures + [row for cell in at_64 for row in _saturated(cell)]


def _saturated(cell: Cell) -> list[Figure]:
    title = f"points at 64 Hz x {cell.metrics}, {_files(cell.files)}"
    can = min(cell.limit, cell.asked)
    peer = cell.peer.rate
    return [
        Figure(title, cell.ours.rate, "/s", 0.95 * can, can,
               "bare pmFetch, or what was asked for", True),
        Figure(title, cell.ours.rate, "/s", 3.5 * peer, peer, "pcp2influxdb", True),
    ]  # fmt: skip


def _files(number: int) -> str:
    return f"{number} file{'s' * (number > 1)} a process"


def _worst(cells: Sequence[Cell], side: str) -> float:
    return max(getattr(cell, side).lost for cell in cells)


def table_5_2(cells: Sequence[Cell]) -> str:
    """Points expected and inserted, next to the thesis' Dolap and the bare loop."""
    header = ["Hz", "every ms", "metrics", "files", "expected"]
    for name in _COMPETITORS:
        header += [f"{name}: inserted", "lost %", "points/s"]
    header += ["thesis: lost %", "points/s", "bare pmFetch: points/s"]
    header += ["ours / what can be had", "ours / pcp2influxdb", "ours: not yet sent"]
    return markdown([header, *map(_row_5_2, cells)])


def _row_5_2(cell: Cell) -> list[str]:
    published = thesis.TABLE_5_2[cell.hertz, cell.metrics]
    return [
        *map(str, (cell.hertz, cell.period_ms, cell.metrics, cell.files)),
        f"{cell.ours.expected:,}",
        *_delivered(cell.ours),
        *_delivered(cell.peer),
        *(f"{published.loss:.1f}", f"{published.inserted / thesis.SECONDS:,.0f}"),
        f"{cell.limit:,.0f}",
        f"{cell.of_limit:.2f}",
        f"{cell.ours.rate / cell.peer.rate:.2f}" if cell.peer.rate else "",
        f"{cell.ours.waiting:,}",
    ]


def _delivered(side: Side) -> list[str]:
    return [f"{side.counted.inserted:,}", f"{side.lost:.1f}", f"{side.rate:,.0f}"]


def table_5_3(cells: Sequence[Cell]) -> str:
    """False zeros, of metrics that are above zero for every process."""
    header = ["Hz", "metrics", "files"]
    for name in _COMPETITORS:
        header += [f"{name}: cannot be zero", "zeros", "zeros %"]
    header += ["thesis: zeros", "zeros %"]
    rows = []
    for cell in cells:
        published = thesis.TABLE_5_3[cell.hertz, cell.metrics]
        row = [*map(str, (cell.hertz, cell.metrics, cell.files))]
        row += [*_zeros(cell.ours), *_zeros(cell.peer)]
        rows.append([*row, f"{published.zeros:,.0f}", f"{published.false_zeros:.1f}"])
    return markdown([header, *rows])


def _zeros(side: Side) -> list[str]:
    found = side.counted
    share = f"{100 * found.zeros / found.above_zero:.1f}" if found.above_zero else ""
    return [f"{found.above_zero:,}", f"{found.zeros:,}", share]


def table_missing(cells: Sequence[Cell]) -> str:
    """The bridge's reasons for missing points, from its start to its end."""
    rows = [
        [*map(str, (cell.hertz, cell.metrics, cell.files)), f"{points:,}", reason]
        for cell in cells
        for reason, points in cell.ours.missing.items()
        if points
    ]
    header = ["Hz", "metrics", "files", "points", "reason"]
    return markdown([header, *rows]) if rows else ""


def table_usage(cells: Sequence[Cell]) -> str:
    """CPU in % of one core, and resident memory in MB, of every process."""
    header = ["Hz", "metrics", "files", "with"]
    names = ["pmcd", "pmdaproc", "store"]
    header += [f"{name}: CPU %" for name in names] + ["itself: CPU %"]
    header += [f"{name}: MB" for name in names] + ["itself: MB"]
    rows = []
    for cell in cells:
        for own, side in (("bridge", cell.ours), ("pcp2influxdb", cell.peer)):
            used = [side.usage[name] for name in (*names, own)]
            row = [*map(str, (cell.hertz, cell.metrics, cell.files)), own]
            row += [f"{one.cpu:.1f}" for one in used]
            rows.append(row + [f"{one.rss:.0f}" for one in used])
    return markdown([header, *rows])
