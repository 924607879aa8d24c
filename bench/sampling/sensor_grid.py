"""A table of the cells by number of series and interval."""

from collections.abc import Callable, Sequence

from bench.sampling.overhead import AGAIN, Cell, Run, Stretch
from bench.sampling.slowdown import labels, overall, pairs
from bench.sampling.stats import mean
from bench.sampling.tables import markdown
from bench.sampling.usage import of_pcp


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
