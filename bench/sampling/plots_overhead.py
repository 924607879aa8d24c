"""Plots of what sampling costs applications."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.sampling.overhead import AGAIN, NOTHING, Cell, Stretch
from bench.sampling.plots import row, save
from bench.sampling.sensor_grid import Grid
from bench.sampling.slowdown import labels, noise_of, overall

_BIN = 1.1  # each bar of the histogram is longer than the one before by this factor


def plot_overhead(stretches: Sequence[Stretch], path: Path) -> None:
    """All applications together, by period; shipped and not shipped."""
    there = [label for label in labels(stretches) if " metrics " in label]
    ways = [False, True] if any("not shipped" in one for one in there) else [True]
    figure, axes = row(len(ways))
    again = overall(stretches, AGAIN)
    for axis, shipped in zip(axes, ways, strict=True):
        for number in sorted({int(label.split()[0]) for label in there}):
            _line(axis, stretches, number, shipped)
        if again and not np.isnan(again.within):
            axis.axhspan(again.low, again.high, alpha=0.2, color="grey", label=AGAIN)
        axis.axhline(0, color="black", linewidth=0.5)
        axis.set(xlabel="period, ms", ylabel="longer by %", xscale="log")
        axis.set_title("shipped" if shipped else "not shipped")
        axis.grid(alpha=0.3)
    axes[0].legend()
    save(figure, path)


def _line(axis, stretches: Sequence[Stretch], number: int, shipped: bool) -> None:
    found = []
    for period_ms in _periods(stretches):
        label = Cell(period_ms, metrics=number, shipped=shipped).label
        if one := overall(stretches, label):
            ends = one.value - one.low, one.high - one.value
            found.append((period_ms, one.value, *np.nan_to_num(ends)))
    if found:
        periods, values, *ends = zip(*found, strict=True)
        axis.errorbar(
            periods, values, ends, fmt="o-", capsize=3, label=f"{number} metrics"
        )


def _periods(stretches: Sequence[Stretch]) -> list[int]:
    words = [label.split() for label in labels(stretches) if label != AGAIN]
    return sorted({int(word[3]) for word in words})


def plot_noise(stretches: Sequence[Stretch], path: Path) -> None:
    """Pieces of the noise loop by their time: without sampling, and for each period."""
    some = [one for one in labels(stretches) if one.startswith("8 metrics")]
    figure, (axis,) = row(1)
    for label in [NOTHING, *(one for one in some if "not shipped" not in one)]:
        pieces = noise_of(stretches, label)
        if pieces:
            micros = np.array(sorted(pieces))
            weights = [pieces[one] / pieces.total() for one in micros]
            steps = np.log(micros.max() / micros.min()) / np.log(_BIN)
            edges = micros.min() * _BIN ** np.arange(steps + 2)
            axis.hist(micros, edges, weights=weights, histtype="step", label=label)
    axis.set(xlabel="µs a piece", ylabel="share of pieces", xscale="log", yscale="log")
    axis.legend()
    save(figure, path)


def plot_grid(grid: Grid, path: Path) -> None:
    """Overhead, CPU and memory by interval and number of series."""
    pictures = {"longer by %": grid.overhead, "CPU %": grid.cpu, "MB": grid.memory}
    figure, axes = row(len(pictures))
    for axis, (title, value) in zip(axes, pictures.items(), strict=True):
        cells = [
            [_number(value(Cell(p, series=n).label)) for p in grid.periods]
            for n in grid.series
        ]
        axis.imshow(cells, cmap="viridis", aspect="auto", origin="lower")
        axis.set_xticks(range(len(grid.periods)), [str(p) for p in grid.periods])
        axis.set_yticks(range(len(grid.series)), [f"{n:,}" for n in grid.series])
        axis.set(title=title, xlabel="period, ms", ylabel="series")
        for y, line in enumerate(cells):
            for x, one in enumerate(line):
                axis.text(x, y, f"{one:.2f}", ha="center", va="center", color="white")
    save(figure, path)


def _number(text: str) -> float:
    return float(text.split()[0]) if text else float("nan")
