"""Scaling over a series, by rows as the saved query gives them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from observations.pop.scaling import series


def row(
    threads: int, useful: float, efficiency: float, **counts: Any
) -> dict[str, Any]:
    return {
        "run": f"run-{threads}",
        "ranks": 1,
        "threads": threads,
        "seconds": useful / threads / efficiency,
        "useful": useful,
        "efficiency": efficiency,
        "speedup": 1.0,
        "strongScaling": 8 / useful,
        "weakScaling": 8 / useful * threads,
        "strongGlobal": 8 / useful * efficiency,
        "weakGlobal": 8 / useful * threads * efficiency,
        **{"instructions": None, "cycles": None, **counts},
    }


ROWS = [row(1, 8, 1.0), row(2, 10, 0.8), row(4, 16, 0.5)]


def test_strong_and_weak_series_differ() -> None:
    strong = series("s", "n1", ROWS, is_weak=False)
    weak = series("s", "n1", ROWS, is_weak=True)
    assert [run.computation for run in strong.runs] == [1.0, 0.8, 0.5]
    assert [run.whole for run in strong.runs] == pytest.approx([1.0, 0.64, 0.25])
    assert [run.computation for run in weak.runs] == [1.0, 1.6, 2.0]
    assert [one.law.name for one in strong.fits] == ["Amdahl", "USL"]
    assert [one.law.name for one in weak.fits] == ["Gustafson"]
    assert "--role" in strong.lacks


def test_counts_give_the_factors_of_computation_scaling() -> None:
    rows = [
        row(1, 8, 1.0, instructions=100, cycles=50),
        row(2, 10, 0.8, instructions=110, cycles=66),
    ]
    found = series("s", "n1", rows, is_weak=False)
    assert found.lacks == ""
    last = found.runs[-1].counted
    assert last
    assert last.instructions == pytest.approx(100 / 110)
    assert last.ipc == pytest.approx((110 / 66) / (100 / 50))
    assert last.frequency == pytest.approx((66 / 10) / (50 / 8))


def test_one_run_without_counts_leaves_none() -> None:
    rows = [row(1, 8, 1.0, instructions=100, cycles=50), row(2, 10, 0.8)]
    found = series("s", "n1", rows, is_weak=False)
    assert found.lacks
    assert [run.counted for run in found.runs] == [None, None]


COUNTS = st.integers(1, 10**12)


@given(COUNTS, COUNTS, st.floats(0.1, 100), st.booleans())
def test_factors_multiply_to_computation_scaling(
    instructions: int, cycles: int, useful: float, is_weak: bool
) -> None:
    rows = [
        row(1, 8, 1.0, instructions=1000, cycles=700),
        row(2, useful, 0.8, instructions=instructions, cycles=cycles),
    ]
    last = series("s", "n1", rows, is_weak=is_weak).runs[-1]
    assert last.counted
    factors = last.counted.instructions * last.counted.ipc * last.counted.frequency
    assert factors == pytest.approx(last.computation)
