"""Times are multiples of a round step, and never more than requested."""

import random

import pytest

from api.dashboards.settled import lead, settled
from api.dashboards.steps import TimeGrid, grid, round_step

Column = list[str | None]


@pytest.mark.parametrize(
    ("seconds", "points", "least", "expected"),
    [
        (300, 600, 1, 1),
        (300, 300, 1, 1),
        (301, 300, 1, 2),
        (900, 600, 1, 2),
        (3600, 1000, 1, 5),
        (300, 600, 7, 10),
        (300, 600, 0.5, 1),
        (7 * 86400, 1000, 1, 900),
        (365 * 86400, 100, 1, 4 * 86400),
        (1, 5000, 1, 1),
    ],
)
def test_steps_are_round(
    seconds: float, points: int, least: float, expected: int
) -> None:
    assert round_step(seconds, points, least) == expected


def test_no_more_points_than_asked_for() -> None:
    chance = random.Random(7)
    for _ in range(2000):
        start = chance.uniform(1e9, 2e9)
        seconds = 10 ** chance.uniform(-1, 8)
        points = chance.randint(1, 5000)
        step = round_step(seconds, points)
        found = grid(start, start + seconds, step)
        assert 1 <= found.count <= points
        assert all(time % step == 0 for time in (found.first, found.last))
        assert found.last <= start + seconds < found.last + step
        assert found.count == 1 or start < found.first <= start + step


def test_refresh_does_not_move_the_times() -> None:
    first, second = grid(1000.2, 1300.2, 5), grid(1002.9, 1302.9, 5)
    assert set(second.times) - set(first.times) <= {1305, 1300}
    assert first.times[0] == 1005 and first.times[-1] == 1300


def test_grid_is_split_into_parts() -> None:
    whole = TimeGrid(100, 10, 5)
    assert whole.times == [100, 110, 120, 130, 140]
    assert whole.until(129).times == [100, 110, 120]
    assert whole.until(99).times == []
    assert whole.since(75).times[:3] == [80, 90, 100]
    assert whole.since(500) == whole


NOW = 1010.0
TIMES = TimeGrid(1000, 1, 11)


def column(last: int, first: int = 1000) -> Column:
    return ["1" if first <= time <= last else None for time in TIMES.times]


@pytest.mark.parametrize(
    ("columns", "expected", "waits"),
    [
        ([column(1010), column(1010)], 1010, True),
        # Only one series has a value for the last second.
        ([column(1009), column(1010)], 1009, True),
        # One series has ended: the wait for it ends after a while.
        ([column(1004), column(1010)], 1010, True),
        ([column(1007), column(1010)], 1007, True),
        # No recent values: they may be on their way.
        ([column(1004), column(1002)], 1005, False),
        ([column(1002), column(1002)], 1005, False),
        ([column(0), column(0)], 1005, False),
        # There is no wait for a series that had no values before.
        ([column(1010), column(1010, 1010)], 1010, True),
    ],
)
def test_only_settled_columns_are_final(
    columns: list[Column], expected: int, waits: bool
) -> None:
    count, waited = settled(columns, TIMES, NOW, 1.0)
    assert TIMES.times[count - 1] == expected
    assert waited is waits


def test_long_step_waits_for_its_last_sample() -> None:
    times = TimeGrid(1000, 2, 6)
    full: Column = ["1"] * 6
    assert settled([full], times, NOW, 1.0) == (3, True)
    assert settled([full], times, NOW, 2.0) == (6, True)


def test_lead_precedes_the_grid() -> None:
    assert lead(TimeGrid(1009, 1, 2), NOW).first <= 1003
    assert lead(TimeGrid(100, 1, 50), NOW) == TimeGrid(100, 1, 50)
