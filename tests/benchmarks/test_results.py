"""What the programs print, read as results."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.record import lines
from benchmarks.results import Result, interval_of_median, noisy, read_results
from observations.errors import BenchmarkError

LINE: dict[str, Any] = {
    **{"kernel": "triad", "stores": "streaming", "bytes": 80_000_000},
    **{"unit": "BYTE", "threads": 2, "work": 2.4e8},
    **{"began": 1.0, "ended": 2.0, "other": 0.0, "stolen": 0.0},
    "seconds": [0.01, 0.02, 0.03],
}


def printed(**changed: Any) -> str:
    return json.dumps(LINE | changed)


def test_rate_is_the_work_divided_by_the_median_time() -> None:
    (result,) = read_results(printed())
    assert result.value == pytest.approx(1.2e10)
    assert result.best == pytest.approx(2.4e10)
    assert (result.unit, result.repeats, result.low) == ("BYTE-PER-SEC", 3, None)


def test_latency_is_a_time_and_less_is_better() -> None:
    (result,) = read_results(printed(unit="LOAD", work=1e6, pages="huge"))
    assert (result.unit, result.value) == ("NanoSEC", pytest.approx(20.0))
    assert result.best == pytest.approx(10.0)


def test_other_load_and_stolen_time_raise_a_concern() -> None:
    quiet = read_results(printed(other=0.04, stolen=0.009))
    busy = read_results(printed(other=0.12, stolen=0.02))
    assert not noisy(quiet)
    assert noisy(busy)
    assert busy[0].concerns == [
        "other programs used 12% of its CPUs",
        "the hypervisor took 2% of its CPUs",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Segmentation fault",
        "[]",
        printed(unit="ACRE"),
        printed(seconds=[0.1, 0.0]),
        printed(seconds=[]),
        printed(work="much"),
        printed(work=float("nan")),
    ],
)
def test_output_without_a_valid_result_is_refused(text: str) -> None:
    with pytest.raises(BenchmarkError) as caught:
        read_results(text)
    assert caught.value.code == "benchmark-failed"


def test_interval_needs_six_values() -> None:
    assert interval_of_median([1.0] * 5) is None
    assert interval_of_median([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == (1.0, 6.0)


@given(st.lists(st.floats(1, 1e9), min_size=6, max_size=60))
def test_interval_contains_the_median(values: list[float]) -> None:
    found = interval_of_median(values)
    assert found is not None
    middle = sorted(values)[len(values) // 2]
    assert found[0] <= middle <= found[1]


@pytest.mark.parametrize(
    ("unit", "value", "shown"),
    [
        ("NUM-PER-SEC", 1000.0, "1.00 k/s"),
        ("NUM-PER-SEC", 5.0, "5.00 /s"),
        ("FLOPS", 2e9, "2.00 GFLOP/s"),
        ("NanoSEC", 90.0, "90.00 ns"),
    ],
)
def test_line_has_a_value_with_its_unit(unit: str, value: float, shown: str) -> None:
    (line,) = lines([Result("random read", unit, 1, value, value, 3)])
    assert line.split("  ")[-1].strip() == shown
