"""Determines which of the newest points are final.

The samples of one moment reach the store, and become visible, one after the other. The
points of the last seconds are shown when all of them have arrived, or when they should
have.
"""

from collections.abc import Sequence

from api.dashboards.ranges import Column
from api.dashboards.steps import TimeGrid

# A store shows new samples after up to four seconds, or immediately on request.
GRACE_S = 5.0


def lead(grid: TimeGrid, now: float) -> TimeGrid:
    """Extend the grid back far enough to tell which of its points are final."""
    young = now - GRACE_S
    if grid.last <= young:
        return grid
    return grid.since(min(grid.first, young - 2 * grid.step))


def settled(
    columns: Sequence[Column], grid: TimeGrid, now: float, period: float
) -> tuple[int, bool]:
    """Return how many times of the grid, from the first, have their final values.

    Also returns whether the next one is waited for: a series with two values in a row
    is expected to have another. If no series is, only time decides. ``period`` is the
    seconds between samples: if the step is longer, a value does not show that the last
    sample of the step has arrived.
    """
    count = grid.until(now - GRACE_S).count
    if grid.step > max(period, 1):
        return count, True
    while count < grid.count:
        expected = [column for column in columns if _expected(column, count)]
        if not expected or any(column[count] is None for column in expected):
            return count, bool(expected)
        count += 1
    return count, True


def _expected(column: Column, index: int) -> bool:
    return index > 1 and None not in column[index - 2 : index]
