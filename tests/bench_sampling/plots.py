"""Plots of the full form."""

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

from tests.bench_sampling import thesis  # noqa: E402
from tests.bench_sampling.cost import Cost  # noqa: E402
from tests.bench_sampling.throughput import Cell  # noqa: E402
from tests.bench_sampling.usage import Usage  # noqa: E402

# The same picture gives the same file.
matplotlib.rcParams["svg.hashsalt"] = "supertwin"
_PARTS = ("pmcd", "pmdaproc", "store")


def plot_throughput(cells: Sequence[Cell], path: Path) -> None:
    """Points a second by frequency, a picture for each number of metrics."""
    numbers = sorted({cell.metrics for cell in cells})
    figure, axes = _row(len(numbers))
    for axis, number in zip(axes, numbers, strict=True):
        row = [cell for cell in cells if cell.metrics == number]
        hertz = [1000 / cell.period_ms for cell in row]
        axis.plot(hertz, [cell.asked for cell in row], ":", label="asked for")
        axis.plot(hertz, [cell.limit for cell in row], "--", label="bare pmFetch")
        axis.plot(hertz, [cell.ours.rate for cell in row], "o-", label="SuperTwin")
        axis.plot(hertz, [cell.peer.rate for cell in row], "s-", label="pcp2influxdb")
        told = [thesis.TABLE_5_2[cell.hertz, number].inserted for cell in row]
        rates = [points / thesis.SECONDS for points in told]
        axis.plot(hertz, rates, "^-", label="thesis (Dolap)")
        _label(axis, f"{number} metrics", "points/s")
        axis.set_yscale("log", base=10)
    axes[0].legend()
    _save(figure, path)


def plot_usage(
    cells: Sequence[Cell], path: Path, what: str, take: Callable[[Usage], float]
) -> None:
    """CPU or memory of each process by frequency, while the bridge samples."""
    numbers = sorted({cell.metrics for cell in cells})
    figure, axes = _row(len(numbers))
    for axis, number in zip(axes, numbers, strict=True):
        row = [cell for cell in cells if cell.metrics == number]
        hertz = [1000 / cell.period_ms for cell in row]
        for name in (*_PARTS, "bridge"):
            values = [take(cell.ours.usage[name]) for cell in row]
            axis.plot(hertz, values, "o-", label=name)
        values = [take(cell.peer.usage["pcp2influxdb"]) for cell in row]
        axis.plot(hertz, values, "s:", label="pcp2influxdb in its turn")
        _label(axis, f"{number} metrics", what)
    axes[0].legend()
    _save(figure, path)


def plot_memory(cost: Cost, path: Path) -> None:
    """The bridge's resident memory over time at 100,000 points a second."""
    figure, (axis,) = _row(1)
    seconds, sizes = zip(*cost.rss, strict=True)
    axis.plot([second / 60 for second in seconds], sizes)
    axis.set(xlabel="minutes", ylabel="MB", ylim=(0, 1.2 * max(sizes)))
    axis.set_title(f"bridge at {cost.rate:,.0f} points/s")
    _save(figure, path)


def _row(number: int) -> tuple[pyplot.Figure, Sequence[Axes]]:
    figure, axes = pyplot.subplots(
        1, number, figsize=(5 * number, 4), sharey=True, squeeze=False
    )
    return figure, axes[0]


def _label(axis: Axes, title: str, what: str) -> None:
    axis.set_title(title)
    axis.set(xlabel="times a second", ylabel=what, xscale="log")
    axis.set_xticks(thesis.FREQUENCIES, [str(hertz) for hertz in thesis.FREQUENCIES])
    axis.grid(alpha=0.3)


def _save(figure: pyplot.Figure, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
