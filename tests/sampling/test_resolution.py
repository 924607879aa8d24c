"""How often sources update metrics, learned from samples of simulated ones."""

import numpy as np
import pytest

from core.stores.points import Points
from observations.statistics import Span, of_counter
from sampling.resolution import source_resolution

MS = np.arange(1_760_000_000_000, 1_760_000_002_000)
RNG = np.random.default_rng(3)


def ticking(load: float, phase: int = 0, start: int = 12_340) -> Points:
    """CPU time in ms as the kernel counts it: each 10 ms tick is busy or idle."""
    ticks = (np.arange(MS.size) + phase) // 10
    busy = RNG.random(ticks.max() + 1) < load
    grown = np.concatenate([[0], np.cumsum(10 * busy[1:])])
    return Points(MS, (start + grown[ticks]).astype(float))


@pytest.mark.parametrize("load", [0.05, 0.5, 1.0])
def test_step_of_time_counter_is_learned(load: float) -> None:
    cpus = [ticking(load), ticking(load, phase=3, start=9_990)]
    found = source_resolution(cpus, "millisec", is_counter=True)
    assert found == pytest.approx(0.01)


def test_step_is_learned_from_coarse_samples() -> None:
    second = slice(None, None, 1000)
    cpus = [
        Points(MS[second], ticking(0.7, start=n).values[second])
        for n in range(10, 200_000, 13_370)
    ]
    assert source_resolution(cpus, "millisec", is_counter=True) == pytest.approx(0.01)


@pytest.mark.parametrize(
    "values", [[1000, 1010, 1020], [0.5 + n for n in range(40)], [0] * 40]
)
def test_step_is_unknown_without_evidence(values: list[float]) -> None:
    few = Points(MS[: len(values)], np.array(values, float))
    assert source_resolution([few], "millisec", is_counter=True) is None


def test_update_interval_of_a_gauge_is_learned() -> None:
    stamps = np.arange(0, 60_000, 1000)
    load = [RNG.random(12)[stamps // 5000] for _ in range(3)]
    series = [Points(stamps, one) for one in load]
    assert source_resolution(series, "") == 5.0
    assert source_resolution([Points(stamps, RNG.random(60))], "") is None


def test_random_events_have_no_resolution() -> None:
    """1,000 counters of events of various rates, none of them periodic."""
    for rate in np.repeat([0.001, 0.01, 0.1, 0.5], 250):
        events = np.cumsum(RNG.random(MS.size) < rate).astype(float)
        assert source_resolution([Points(MS, events)], "count", is_counter=True) is None


def test_no_samples_give_no_resolution() -> None:
    assert source_resolution([], "millisec", is_counter=True) is None
    assert source_resolution([Points(MS[:1], np.ones(1))]) is None


@pytest.mark.parametrize("load", [0.3, 1.0])
def test_rates_are_over_the_resolution(load: float) -> None:
    """Between samples of 1 ms, the rates would be 0 or 10,000 ms a second."""
    counter = ticking(load)
    span = Span(float(MS[0]), float(MS[-1]))
    raw = of_counter(counter, span)
    assert (raw.minimum, raw.median, raw.maximum) == (0, 0, 10_000)
    found = of_counter(counter, span, resolution=0.01)
    assert (found.mean, found.total) == (raw.mean, raw.total)
    assert found.median is not None
    assert found.maximum is not None
    assert 0 < found.median <= found.maximum <= 1_000
    assert found.median == pytest.approx(1000 * load, rel=0.8)


def test_cpus_with_offset_ticks_do_not_look_faster() -> None:
    pair = Points(MS, ticking(1).values + ticking(1, phase=9).values)
    span = Span(float(MS[0]), float(MS[-1]))
    found = of_counter(pair, span, resolution=0.01)
    assert found.maximum is not None
    assert found.maximum <= 2_000


@pytest.mark.parametrize(
    ("steps", "rates"),
    [
        ([0] * 40, (0, 0, 0)),
        ([0] * 20 + [10] + [0] * 19, (0, 500, 500)),
        ([0] * 35 + [10] + [0] * 4, (10_000 / 35,) * 3),
        ([0] * 4 + [10] + [0] * 4, (None, None, None)),
    ],
)
def test_rates_of_few_updates_are_correct(
    steps: list[int], rates: tuple[float | None]
) -> None:
    points = Points(MS[: len(steps)], np.cumsum(steps).astype(float))
    last = float(points.stamps[-1])
    found = of_counter(points, Span(float(MS[0]), last), resolution=0.01)
    assert (found.minimum, found.median, found.maximum) == rates
    assert found.mean == pytest.approx(1000 * sum(steps) / (len(steps) - 1))


def test_idle_times_count_like_busy_ones() -> None:
    counter = ticking(1)
    idle = Points(MS, np.minimum(counter.values, counter.values[0] + 200))
    found = of_counter(idle, Span(float(MS[0]), float(MS[-1])), resolution=0.01)
    assert (found.minimum, found.median, found.maximum) == (0, 0, 1000)
