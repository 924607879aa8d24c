"""Statistics of a series during a run, compared with known results."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stores.points import Points
from observations.statistics import (
    CounterGrowth,
    Span,
    Statistics,
    of_counter,
    of_gauge,
)
from ontology.limits import greatest_rate

TICKS = np.arange(0, 10_000, 1000)


def points(*values: float) -> Points:
    return Points(TICKS[: len(values)], np.array(values, float))


def test_values_at_both_ends_of_a_run_count() -> None:
    found = of_gauge(points(9, 1, 2, 3, 4, 9), Span(1000, 4000))
    assert found == Statistics(4, 1.0, 2.5, 4.0, 2.5, pytest.approx(3.85))


def test_run_between_two_ticks_has_no_values_but_a_total() -> None:
    span = Span(2100.5, 2900.25)
    assert of_gauge(points(1, 2, 3, 4), span) == Statistics(0)
    found = of_counter(points(0, 10, 20, 95), span)
    assert (found.samples, found.total, found.covered) == (0, 75, 1)
    assert found.mean == 75
    assert found.median is None


def test_total_of_a_counter_covers_the_whole_run() -> None:
    found = of_counter(points(0, 0, 5, 105, 205, 230, 230), Span(1500, 4500))
    assert found.total == 230
    assert found.covered == 4
    assert (found.minimum, found.maximum, found.median) == (100, 100, 100)
    assert found.mean == 230 / 4


def test_restarted_counter_loses_only_unsampled_growth() -> None:
    found = of_counter(points(100, 110, 3, 8), Span(0, 3000))
    assert found.total == 10 + 3 + 5


def test_missing_samples_give_no_statistics() -> None:
    nothing = Points(np.array([], int), np.array([]))
    for of in (of_counter, of_gauge):
        assert of(nothing, Span(0, 1000)) == Statistics(0)
    assert of_counter(points(5), Span(0, 1000)) == Statistics(1)


@given(
    st.lists(st.integers(0, 1000), min_size=2, max_size=10),
    st.floats(0, 9000),
    st.floats(0, 9000),
)
def test_totals_of_neighbouring_runs_add_up(
    steps: list[int], one: float, other: float
) -> None:
    counter = points(*np.cumsum(steps).tolist())
    last = float(counter.stamps[-1])
    middle = 1000.0 * round(min(one, other, last) / 1000)
    total = of_counter(counter, Span(0, last)).total
    parts = [Span(0, middle), Span(middle, last)]
    assert total == sum(of_counter(counter, part).total or 0 for part in parts)


def test_impossible_rate_is_bounded_and_counted() -> None:
    # The tick at 3 s was fetched 400 ms late; the CPU was never idle.
    counter, span = points(0, 1000, 2000, 3400, 4000, 5000), Span(0, 5000)
    found = of_counter(counter, span, greatest=1000)
    assert (found.maximum, found.p95, found.bounded) == (1000, 1000, 1)
    assert (found.minimum, found.mean, found.total) == (600, 1000, 5000)
    assert of_counter(counter, span).maximum == 1400


def test_mean_is_at_most_the_possible_maximum() -> None:
    found = of_counter(
        points(0, 1000), Span(0, 1000), CounterGrowth(1100, 1.0), None, 1000
    )
    assert (found.mean, found.total, found.bounded) == (1000, 1100, 1)


@pytest.mark.parametrize(
    ("metric", "unit", "greatest"),
    [
        ("kernel.percpu.cpu.user", "millisec", 1e3),
        ("kernel.all.pressure.io.full.total", "microsec", 1e6),
        ("disk.dev.avactive", "http://qudt.org/vocab/unit/MilliSEC", 1e3),
        ("supertwin.cgroup.cpu.stalled", "microsec", 1e6),
        ("kernel.all.cpu.user", "millisec", None),
        ("kernel.percpu.intr", "count", None),
    ],
)
def test_time_of_one_component_is_at_most_one_second_per_second(
    metric: str, unit: str, greatest: float | None
) -> None:
    assert greatest_rate(metric, unit) == pytest.approx(greatest)


def test_time_of_all_cpus_is_at_most_their_number() -> None:
    for metric in ("kernel.all.cpu.user", "kernel.all.cpu.wait.total"):
        assert greatest_rate(metric, "millisec", 64) == pytest.approx(64_000)
        assert greatest_rate(metric, "millisec", 0) is None
    assert greatest_rate("kernel.percpu.cpu.user", "millisec", 64) == 1000
