"""Which of the newest points are final.

The samples of one moment come into the store, and into sight, one after the other. What
has come of the last seconds is shown when all of it has, or when it should have.
"""

from collections.abc import Sequence

from api.dashboards.ranges import Column
from api.dashboards.steps import Grid

# A store shows what it took in after up to four seconds, at once when told to.
GRACE_S = 5.0


def lead(grid: Grid, now: float) -> Grid:
    """The grid with what must be known before it to tell what of it is final."""
    young = now - GRACE_S
    if grid.last <= young:
        return grid
    return grid.since(min(grid.first, young - 2 * grid.step))


def settled(
    columns: Sequence[Column], grid: Grid, now: float, period: float
) -> tuple[int, bool]:
    """How many times of the grid, from its first on, have their final values.

    Also whether the next one is waited for: a series with two values in a row is
    expected to have another. Without any, only time tells; ``period``, seconds between
    samples: a longer step ends with a sample that nothing tells of.
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
