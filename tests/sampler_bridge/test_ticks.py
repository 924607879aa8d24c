"""Ticks are multiples of the period, in order, unique, and all accounted for."""

from hypothesis import given
from hypothesis import strategies as st

from sampler_bridge.sampling.ticks import (
    FetchPace,
    first_tick,
    is_set_back,
    next_tick,
    tick_of,
)

PERIODS = st.integers(1, 3_600_000)
TIMES = st.integers(1_700_000_000_000, 1_900_000_000_000)


@given(TIMES, PERIODS)
def test_first_tick_is_the_next_multiple(now: int, period: int) -> None:
    tick = first_tick(now, period)
    assert tick % period == 0
    assert now < tick <= now + period


@given(TIMES, PERIODS, st.integers(0, 10**9))
def test_every_skipped_tick_is_counted(start: int, period: int, later: int) -> None:
    tick = first_tick(start, period)
    following, skipped = next_tick(tick, tick + later, period)
    assert following == tick + (skipped + 1) * period
    assert skipped >= 0
    assert tick + later - following <= period // 2
    assert skipped == 0 or tick + later - (following - period) > period // 2


def test_punctual_fetch_skips_no_tick() -> None:
    assert next_tick(10_000, 10_020, 1000) == (11_000, 0)


def test_fetch_half_a_period_late_keeps_its_tick() -> None:
    assert next_tick(10_000, 11_500, 1000) == (11_000, 0)
    assert next_tick(10_000, 11_501, 1000) == (12_000, 1)


def test_clock_set_back_slightly_is_waited_for() -> None:
    assert next_tick(100_000, 95_000, 1000) == (101_000, 0)

    assert not is_set_back(101_000, 95_000, 1000)


def test_clock_set_back_far_is_followed() -> None:
    assert is_set_back(10_000_000, 5_000_500, 1000)


@given(TIMES, PERIODS)
def test_future_ticks_do_not_indicate_a_clock_set_back(now: int, period: int) -> None:
    tick = first_tick(now, period)
    assert not is_set_back(tick, now, period)
    assert not is_set_back(next_tick(tick, tick, period).tick_ms, tick, period)


@given(TIMES, PERIODS, st.integers(0, 10**6), st.integers(0, 10**8))
def test_two_fetches_never_fill_one_tick(
    now: int, period: int, off: int, took: int
) -> None:
    asked = first_tick(now, period)
    half = period // 2
    early = half if took >= period else 0  # only a slow source is fetched early
    began = asked - early + off % (early + half + 1)
    tick = tick_of(asked, began, began + took, period)
    if tick is None:
        assert took < period and began + took / 2 > asked + period / 2
        return
    assert tick >= asked
    assert tick % period == 0
    following, _ = next_tick(tick, began + took, period)
    assert following > tick
    assert abs(tick - (began + took / 2)) <= period / 2


def test_quick_fetch_fills_its_own_tick() -> None:
    assert tick_of(1005, 1007, 1018, 15) == 1005


def test_slow_fetch_fills_the_tick_nearest_its_middle() -> None:
    assert tick_of(1005, 1006, 1046, 15) == 1020
    assert tick_of(1005, 1006, 1024, 15) == 1020


def test_late_fetch_of_a_quick_source_fills_no_tick() -> None:
    assert tick_of(10_000, 10_450, 10_550, 1000) == 10_000
    assert tick_of(10_000, 10_450, 10_552, 1000) is None


def test_constantly_slow_source_is_not_a_hang() -> None:
    pace = FetchPace()
    assert not any(pace.is_held_up(took, 15) for took in (41, 60, 44, 120, 43))


def test_single_slow_fetch_is_a_hang() -> None:
    pace = FetchPace()
    assert not any(pace.is_held_up(3, 200) for _ in range(9))
    assert pace.is_held_up(2500, 200)
    assert not pace.is_held_up(390, 200)


def test_newly_slow_source_is_accepted_after_some_fetches() -> None:
    pace = FetchPace()
    assert not pace.is_held_up(3, 15)
    assert [pace.is_held_up(40, 15) for _ in range(9)] == [True] * 8 + [False]
