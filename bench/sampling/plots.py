"""Plots of throughput, resources and memory, as SVG files below 100 kB."""

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

from bench.sampling import thesis  # noqa: E402
from bench.sampling.resources import Taken  # noqa: E402
from bench.sampling.soak import Moment, Soaked  # noqa: E402
from bench.sampling.throughput import Cell  # noqa: E402

# Makes the same picture give the same file.
matplotlib.rcParams["svg.hashsalt"] = "supertwin"
# Text as text: outlines of its letters take most of a small plot's file.
matplotlib.rcParams["svg.fonttype"] = "none"
# More digits than these are finer than a pixel.
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
# Points of a line over time; the plot is about as many pixels wide.
_POINTS = 400
_PARTS = ("pmcd", "pmdalinux", "pmdaproc", "bridge")


def plot_throughput(cells: Sequence[Cell], path: Path) -> None:
    """Points a second by frequency, one plot for each number of metrics and files."""
    kinds = sorted({(cell.files, cell.metrics) for cell in cells})
    figure, axes = row(len(kinds))
    for axis, kind in zip(axes, kinds, strict=True):
        some = [cell for cell in cells if (cell.files, cell.metrics) == kind]
        hertz = [1000 / cell.period_ms for cell in some]
        axis.plot(hertz, [cell.asked for cell in some], ":", label="asked for")
        axis.plot(hertz, [cell.limit for cell in some], "--", label="bare pmFetch")
        axis.plot(hertz, [cell.ours.rate for cell in some], "o-", label="SuperTwin")
        axis.plot(hertz, [cell.peer.rate for cell in some], "s-", label="pcp2influxdb")
        published = [
            thesis.TABLE_5_2[cell.hertz, cell.metrics].inserted for cell in some
        ]
        rates = [points / thesis.SECONDS for points in published]
        axis.plot(hertz, rates, "^-", label="thesis (Dolap)")
        title = "{1} metrics of {0} file{2}".format(*kind, "s" * (kind[0] > 1))
        _label(axis, title, "points/s", thesis.FREQUENCIES)
        axis.set_yscale("symlog", linthresh=1000)
    axes[0].legend()
    save(figure, path)


def plot_cpu(cells: Sequence[Taken], path: Path) -> None:
    """CPU of each process by frequency and number of metrics."""
    _plot_parts(
        cells, path, "CPU, % of a core", lambda cell, name: cell.usage[name].cpu
    )


def plot_rss(cells: Sequence[Taken], path: Path) -> None:
    """Memory of each process by frequency and number of metrics."""
    _plot_parts(cells, path, "memory, MB", lambda cell, name: cell.usage[name].rss)


def plot_network(cells: Sequence[Taken], path: Path) -> None:
    """PMCD's traffic to clients by frequency, one line for each number of metrics."""
    figure, (axis,) = row(1)
    for number in sorted({cell.metrics for cell in cells}):
        some = [cell for cell in cells if cell.metrics == number]
        axis.plot(
            [cell.hertz for cell in some],
            [cell.network for cell in some],
            "o-",
            label=f"{number} metrics",
        )
    hertz = sorted({cell.hertz for cell in cells})
    _label(axis, "PMCD to the bridge", "kB/s", hertz)
    axis.legend()
    save(figure, path)


def _plot_parts(
    cells: Sequence[Taken],
    path: Path,
    what: str,
    take: Callable[[Taken, str], float],
) -> None:
    numbers = sorted({cell.metrics for cell in cells})
    figure, axes = row(len(numbers))
    for axis, number in zip(axes, numbers, strict=True):
        some = [cell for cell in cells if cell.metrics == number]
        hertz = [cell.hertz for cell in some]
        for name in _PARTS:
            axis.plot(hertz, [take(cell, name) for cell in some], "o-", label=name)
        _label(axis, f"{number} metrics", what, hertz)
    axes[0].legend()
    save(figure, path)


def plot_soak(run: Soaked, path: Path) -> None:
    """The bridge's resident memory over time, with the times of the kills."""
    figure, (axis,) = row(1)
    peaks = _peaks(run.moments)
    sizes = [moment.rss for moment in peaks]
    axis.plot([moment.at / 60 for moment in peaks], sizes)
    for start, end in _outages(run.moments):
        axis.axvspan(start / 60, end / 60, alpha=0.2, color="tab:red", linewidth=0)
    axis.set(xlabel="minutes", ylabel="MB", ylim=(0, 1.2 * max(sizes)))
    axis.set_title(f"bridge at {run.calm()[1]:,.0f} points/s (red: outages)")
    save(figure, path)


def _outages(moments: Sequence[Moment]) -> list[tuple[float, float]]:
    """Start and end of each time that was not calm, in seconds."""
    found: list[tuple[float, float]] = []
    for moment, after in zip(moments, moments[1:], strict=False):
        if not after.calm:
            open_ = found and found[-1][1] == moment.at
            start = found.pop()[0] if open_ else moment.at
            found.append((start, after.at))
    return found


def _peaks(moments: Sequence[Moment]) -> list[Moment]:
    """The largest of each few neighbours."""
    step = -(-len(moments) // _POINTS)
    parts = (moments[start : start + step] for start in range(0, len(moments), step))
    return [max(part, key=lambda moment: moment.rss) for part in parts]


def row(number: int) -> tuple[pyplot.Figure, Sequence[Axes]]:
    """Plots in one row."""
    figure, axes = pyplot.subplots(
        1, number, figsize=(5 * number, 4), sharey=True, squeeze=False
    )
    return figure, axes[0]


def _label(axis: Axes, title: str, what: str, hertz: Sequence[int]) -> None:
    axis.set_title(title)
    axis.set(xlabel="times a second", ylabel=what, xscale="log")
    axis.set_xticks(hertz, [str(one) for one in hertz])
    axis.minorticks_off()
    axis.grid(alpha=0.3)


def save(figure: pyplot.Figure, path: Path) -> None:
    """Write a plot; its file contains no date, and coordinates of two digits."""
    figure.tight_layout()
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    path.write_text(
        _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", drawn.getvalue())
    )
