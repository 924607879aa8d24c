"""The times of a chart: multiples of a round step, so that charts do not jitter."""

import math
from bisect import bisect_left
from dataclasses import dataclass

_DAY = 86_400
# Steps in seconds that people are used to.
_ROUND = (
    *(1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 10_800, 21_600, 43_200, _DAY),
)


@dataclass(frozen=True)
class TimeGrid:
    """``count`` times from ``first`` (Unix seconds), ``step`` seconds apart."""

    first: int
    step: int
    count: int

    @property
    def last(self) -> int:
        """The last time; of an empty grid, the one before the first."""
        return self.first + (self.count - 1) * self.step

    @property
    def times(self) -> list[int]:
        """All times."""
        return list(range(self.first, self.first + self.count * self.step, self.step))

    def index(self, time: float) -> int:
        """Return the index of a time in the grid; may be outside of it."""
        return round((time - self.first) / self.step)

    def until(self, time: float) -> "TimeGrid":
        """Return the part of the grid up to a time."""
        count = math.floor((time - self.first) / self.step) + 1
        return TimeGrid(self.first, self.step, max(0, min(self.count, count)))

    def since(self, time: float) -> "TimeGrid":
        """Extend the grid back far enough to include a time."""
        more = max(0, math.floor((self.first - time) / self.step))
        return TimeGrid(self.first - more * self.step, self.step, self.count + more)


def round_step(seconds: float, points: int, least: float = 1.0) -> int:
    """Return the shortest round step that needs no more points; whole seconds.

    ``least`` is the period of the samples: a shorter step would have empty points.
    """
    wanted = max(seconds / points, least)
    if wanted > _DAY:
        return math.ceil(wanted / _DAY) * _DAY
    return _ROUND[bisect_left(_ROUND, wanted)]


def grid(start: float, end: float, step: int) -> TimeGrid:
    """Return the multiples of the step after ``start``, up to ``end``; at least one.

    The value at a time represents the step before it, so ``start`` itself is left out.
    """
    last = math.floor(end / step)
    first = min(math.floor(start / step) + 1, last)
    return TimeGrid(first * step, step, last - first + 1)
