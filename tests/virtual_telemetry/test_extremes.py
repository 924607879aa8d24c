"""Infinite values, and periods from a millisecond to a day."""

import math
import time

import pytest

from tests.virtual_telemetry.world import World, telemetry

POWER = f"<{telemetry('power')}>"


def test_division_by_zero_is_infinite(world: World) -> None:
    zero = f"({POWER} - {POWER})"
    world.add("endless", f"{POWER} / {zero}")
    world.add("negative", f"-{POWER} / {zero}")
    world.add("undefined", f"{zero} / {zero}")
    assert set(world.values("endless", 0, 10).values()) == {math.inf}
    assert set(world.values("negative", 0, 10).values()) == {-math.inf}
    assert world.values("undefined", 0, 10) == {}
    call = f"st:max ({world.range(0, 60)} 30 ?time ?value)"
    found = [row["value"] for row in world.rows(f"<virtual/endless> {call}")]
    assert found == [math.inf] * 2
    for name, value in (("endless", math.inf), ("negative", -math.inf)):
        (row,) = world.rows(f"<virtual/{name}> st:last (?value)")
        assert row["value"] == value


def test_short_periods_have_a_last_value(world: World) -> None:
    end = int(time.time()) * 1000 - 30_000
    world.sample("fast", 0.001, {end + n: n for n in range(100)})
    world.add("fast", f"<{telemetry('fast')}> * 2")
    (row,) = world.rows("<virtual/fast> st:last (?value ?time)")
    # Values are 10 ms apart at least.
    assert row["value"] == 180
    assert row["time"].timestamp() == pytest.approx((end + 90) / 1000, abs=1e-4)


def test_last_value_of_a_slow_input_is_found(world: World) -> None:
    day = 86_400_000
    last = int(time.time() * 1000) // day * day - day
    world.sample("daily", 86_400.0, {last - n * day: n for n in range(3)})
    world.add("daily", f"<{telemetry('daily')}> * 1")
    (row,) = world.rows("<virtual/daily> st:last (?value ?time)")
    assert (row["value"], round(row["time"].timestamp() * 1000)) == (0, last)


def test_period_without_a_plan_is_that_of_each_range(world: World) -> None:
    at = world.start * 1000
    world.sample("odd", 0, {at + 5000 * n: n for n in range(100)})
    world.sample("odd", 0, {at + 600_000 + 20_000 * n: n for n in range(20)})
    world.add("odd", f"<{telemetry('odd')}> * 2")
    spans = (world.range(0, 100), world.range(600, 1000))
    rows = world.rows(
        f"VALUES (?from ?to) {{ ({spans[0]}) ({spans[1]}) }} "
        "<virtual/odd> st:rawSamples (?from ?to ?time ?value)"
    )
    seconds = sorted(round(row["time"].timestamp()) - world.start for row in rows)
    assert seconds == [*range(5, 101, 5), *range(620, 981, 20)]
