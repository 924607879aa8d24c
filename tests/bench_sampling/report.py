"""What is told while it is measured, and the page and plots of the full form."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from tests.bench_sampling.cost import Cost
from tests.bench_sampling.throughput import Cell

PAGE = "sampling.md"
_HEAD = """# Sampling: the full form

Written by `python -m tests.bench_sampling --full`; [benchmarks.md](../benchmarks.md)
says what is counted and how.
"""


class Report:
    """Prints every section; with a folder, writes page and plots there as they come."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        cores, kernel = os.cpu_count(), platform.release()
        self._parts = [_HEAD, f"{cores} cores, Linux {kernel}.\n"]
        if folder:
            folder.mkdir(parents=True, exist_ok=True)

    def say(self, line: str) -> None:
        """A line for who waits."""
        print(line, flush=True)

    def section(self, title: str, body: str) -> None:
        """A table or a sentence under its title; nothing where there is none."""
        if not body:
            return
        print(f"\n{title}\n\n{body}\n", flush=True)
        self._parts.append(f"## {title}\n\n{body}\n")
        self._write()

    def cells(self, cells: Sequence[Cell]) -> None:
        """Plots of tables 5.2 and 5.3."""
        if not self._folder:
            return
        # Here: who measures quickly does without matplotlib.
        from tests.bench_sampling.plots import plot_throughput, plot_usage

        plot_throughput(cells, self._folder / "throughput.svg")
        plot_usage(cells, self._folder / "cpu.svg", "CPU, % of a core", lambda u: u.cpu)
        plot_usage(cells, self._folder / "memory.svg", "memory, MB", lambda u: u.rss)
        for name in ("throughput", "cpu", "memory"):
            self._picture(name)

    def memory(self, cost: Cost) -> None:
        """The plot of the bridge's memory."""
        if not self._folder:
            return
        from tests.bench_sampling.plots import plot_memory

        plot_memory(cost, self._folder / "bridge-memory.svg")
        self._picture("bridge-memory")

    def _picture(self, name: str) -> None:
        self._parts.append(f"![{name}]({name}.svg)\n")
        self._write()

    def _write(self) -> None:
        if self._folder:
            (self._folder / PAGE).write_text("\n".join(self._parts))
