"""Verdicts on groups of runs."""

import numpy as np
import pytest

from observations.compare import BETTER, SAME, UNKNOWN, WORSE, estimate, judge


def test_an_interval_is_student_s() -> None:
    # From the table: t(0.975, 4) = 2.776.
    found = estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.mean == 3.0
    assert found.high == pytest.approx(3 + 2.776 * np.sqrt(2.5 / 5), rel=1e-3)
    assert found.low == pytest.approx(6 - found.high)


def test_one_value_has_no_interval() -> None:
    assert estimate([2.0]).low is None


def test_values_that_never_differ_have_an_interval_of_no_width() -> None:
    found = estimate([2.0, 2.0])
    assert (found.low, found.high) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("values", "less", "word"),
    [
        ([2.0, 2.1, 1.9], True, BETTER),
        ([2.0, 2.1, 1.9], False, WORSE),
        ([4.0, 4.1, 3.9], True, WORSE),
        ([3.0, 3.1, 2.9], True, SAME),
    ],
)
def test_a_verdict(values: list[float], less: bool, word: str) -> None:
    found = judge([3.0, 3.1, 2.95], values, less_is_better=less)
    assert found.word == word
    assert found.low is not None
    assert found.high is not None
    assert found.change is not None
    assert found.low <= found.change <= found.high


def test_a_change_within_the_tolerance_is_none() -> None:
    reference, values = [100.0, 100.1, 99.9], [103.0, 103.1, 102.9]
    assert judge(reference, values).word == WORSE
    assert judge(reference, values, tolerance=0.05).word == SAME


def test_one_run_proves_nothing() -> None:
    found = judge([1.0], [2.0, 2.1])
    assert (found.word, found.p) == (UNKNOWN, None)
    assert found.change == pytest.approx(1.05)


def test_a_reference_of_zero_has_no_part() -> None:
    found = judge([0.0, 0.0], [1.0, 1.1])
    assert (found.word, found.change) == (WORSE, None)


def test_what_never_differs_is_judged_by_its_values() -> None:
    assert judge([1.0, 1.0], [1.0, 1.0]).word == SAME
    assert judge([1.0, 1.0], [2.0, 2.0]).word == WORSE


def test_two_groups_of_the_same_kind_are_told_apart_one_time_in_twenty() -> None:
    rng = np.random.default_rng(1)
    draws = rng.normal(10, 1, (2000, 2, 8))
    words = [judge(a.tolist(), b.tolist()).word for a, b in draws]
    assert 0.03 < 1 - words.count(SAME) / len(words) < 0.07
