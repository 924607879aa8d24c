"""The results as Markdown tables."""

from collections.abc import Sequence

from tests.bench.table import Figure, rows_of
from tests.bench_sampling import thesis
from tests.bench_sampling.cost import Cost
from tests.bench_sampling.disk import OnDisk
from tests.bench_sampling.throughput import Cell, Side
from tests.bench_sampling.ticks import Ticks

_COMPETITORS = ("ours", "pcp2influxdb")


def table_5_2(cells: Sequence[Cell]) -> str:
    """Points expected and inserted, beside the thesis' Dolap and the bare loop."""
    header = ["Hz", "every ms", "metrics", "expected"]
    for name in _COMPETITORS:
        header += [f"{name}: inserted", "lost %", "points/s"]
    header += ["thesis: lost %", "points/s", "bare pmFetch: points/s"]
    header += ["ours / what can be had", "ours / pcp2influxdb"]
    return _markdown([header, *map(_row_5_2, cells)])


def _row_5_2(cell: Cell) -> list[str]:
    told = thesis.TABLE_5_2[cell.hertz, cell.metrics]
    return [
        *(str(cell.hertz), str(cell.period_ms), str(cell.metrics)),
        f"{cell.ours.expected:,}",
        *_delivered(cell.ours),
        *_delivered(cell.peer),
        *(f"{told.loss:.1f}", f"{told.inserted / thesis.SECONDS:,.0f}"),
        f"{cell.limit:,.0f}",
        f"{cell.of_limit:.2f}",
        f"{cell.ours.rate / cell.peer.rate:.2f}",
    ]


def _delivered(side: Side) -> list[str]:
    return [f"{side.counted.inserted:,}", f"{side.lost:.1f}", f"{side.rate:,.0f}"]


def table_5_3(cells: Sequence[Cell]) -> str:
    """False zeros: of metrics that are above zero for every process."""
    header = ["Hz", "metrics"]
    for name in _COMPETITORS:
        header += [f"{name}: cannot be zero", "zeros", "zeros %"]
    header += ["thesis: zeros", "zeros %"]
    rows = []
    for cell in cells:
        told = thesis.TABLE_5_3[cell.hertz, cell.metrics]
        row = [str(cell.hertz), str(cell.metrics)]
        row += [*_zeros(cell.ours), *_zeros(cell.peer)]
        rows.append([*row, f"{told.zeros:,.0f}", f"{told.false_zeros:.1f}"])
    return _markdown([header, *rows])


def _zeros(side: Side) -> list[str]:
    found = side.counted
    share = 100 * found.zeros / found.above_zero if found.above_zero else 0.0
    return [f"{found.above_zero:,}", f"{found.zeros:,}", f"{share:.1f}"]


def table_missing(cells: Sequence[Cell]) -> str:
    """What the bridge says of points that are not there, from its start to its end."""
    rows = [
        [str(cell.hertz), str(cell.metrics), f"{points:,}", reason]
        for cell in cells
        for reason, points in cell.ours.missing.items()
        if points
    ]
    return _markdown([["Hz", "metrics", "points", "reason"], *rows]) if rows else ""


def table_usage(cells: Sequence[Cell]) -> str:
    """CPU in % of one core, and resident memory in MB, of every process that took part.

    Figures 5.1 to 5.4 of the thesis: agents by frequency and number of metrics.
    """
    header = ["Hz", "metrics", "with"]
    names = ["pmcd", "pmdaproc", "store"]
    header += [f"{name}: CPU %" for name in names] + ["itself: CPU %"]
    header += [f"{name}: MB" for name in names] + ["itself: MB"]
    rows = []
    for cell in cells:
        for own, side in (("bridge", cell.ours), ("pcp2influxdb", cell.peer)):
            used = [side.usage[name] for name in (*names, own)]
            row = [str(cell.hertz), str(cell.metrics), own]
            row += [f"{one.cpu:.1f}" for one in used]
            rows.append(row + [f"{one.rss:.0f}" for one in used])
    return _markdown([header, *rows])


def table_goals(
    cells: Sequence[Cell], cost: Cost, ticks: Sequence[Ticks], disk: OnDisk
) -> str:
    """What issue and thesis are measured by, in the form of `make bench`."""
    below = [cell for cell in cells if cell.hertz < 64]
    top = max(cells, key=lambda cell: (cell.hertz, cell.metrics))
    zeros = sum(cell.ours.counted.zeros for cell in cells)
    peers = sum(cell.peer.counted.zeros for cell in cells)
    figures = [
        Figure("lost below 64 Hz, worst row", _worst(below, "ours"), "%", 0,
               _worst(below, "peer"), "pcp2influxdb's worst row"),
        Figure("points at 64 Hz", top.ours.rate, "/s", 0.95 * min(top.limit, top.asked),
               min(top.limit, top.asked), "bare pmFetch, or what was asked for", True),
        Figure("points at 64 Hz", top.ours.rate, "/s", 3.5 * top.peer.rate,
               top.peer.rate, "pcp2influxdb", True),
        Figure("false zeros", zeros, "", 0, peers, "pcp2influxdb"),
        Figure("bridge: CPU of one core at 100,000 points/s", cost.cpu_at_pace, "%", 8),
        Figure("bridge: resident memory, most", cost.most, "MB", 150),
        Figure("bridge: memory at the end over that at the start", cost.growth, ""),
        Figure("bytes a point on disk, monitor set", disk.a_point, "B", 0.8,
               0.4, "the best ever reported"),
        Figure("  and for labels and index",
               disk.bytes_of_index / disk.points, "B"),
    ]  # fmt: skip
    goals = {"bridge": 99.0, "nobody": 98.0}
    for one in ticks:
        title = f"1 ms period, 8 metrics, {one.title}: ticks within 1 ms"
        goal = goals["nobody" if one is ticks[0] else "bridge"]
        figures.append(Figure(title, one.in_time, "%", goal, at_least=True))
        figures.append(Figure("  99 % of what arrived is off by at most",
                              one.quantile(0.99), "ms"))  # fmt: skip
    return "\n".join(rows_of(figures))


def _worst(cells: Sequence[Cell], side: str) -> float:
    return max(getattr(cell, side).lost for cell in cells)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows, the first being the header; all but it to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (w + 1) + ":" for w in widths) + "|")
    return "\n".join(lines)
