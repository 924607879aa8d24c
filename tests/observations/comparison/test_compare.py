"""Verdicts on groups of runs."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from api.observations.comparing import TOLERANCE
from observations.comparison.compare import (
    DEFAULT_TOLERANCE,
    ComparisonVerdict,
    VerdictWord,
    estimate,
    judge,
)
from observations.comparison.decisive_runs import POWER, decisive_runs

COMPARISONS = 1000
Draw = Callable[[], ComparisonVerdict]


def simulated(
    change: float,
    *,
    sizes: tuple[int, int] = (8, 8),
    spreads: tuple[float, float] = (0.01, 0.01),
    tolerance: float = DEFAULT_TOLERANCE,
) -> Counter[VerdictWord]:
    """Verdicts on simulated groups whose true means differ by this relative amount."""
    rng = np.random.default_rng(18)
    found: Counter[VerdictWord] = Counter()
    for _ in range(COMPARISONS):
        was = rng.normal(1, spreads[0], sizes[0]).tolist()
        now = rng.normal(1 + change, spreads[1], sizes[1]).tolist()
        found[judge(was, now, tolerance=tolerance).word] += 1
    return found


def test_interval_follows_students_t() -> None:
    # From the table: t(0.975, 4) = 2.776.
    found = estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.mean == 3.0
    assert found.high == pytest.approx(3 + 2.776 * np.sqrt(2.5 / 5), rel=1e-3)
    assert found.low == pytest.approx(6 - found.high)


def test_one_value_has_no_interval() -> None:
    assert estimate([2.0]).low is None


# The mean of three times 0.1 is not exactly 0.1.
@pytest.mark.parametrize("value", [2.0, 0.1])
def test_equal_values_have_interval_of_width_zero(value: float) -> None:
    found = estimate([value] * 3)
    assert (found.low, found.high) == (value, value)


@pytest.mark.parametrize(
    ("values", "less", "word"),
    [
        ([2.0, 2.1, 1.9], True, VerdictWord.BETTER),
        ([2.0, 2.1, 1.9], False, VerdictWord.WORSE),
        ([2.0, 2.1, 1.9], None, VerdictWord.LESS),
        ([4.0, 4.1, 3.9], True, VerdictWord.WORSE),
        ([4.0, 4.1, 3.9], None, VerdictWord.MORE),
        ([3.0, 3.01, 2.99], True, VerdictWord.EQUIVALENT),
        ([3.0, 3.5, 2.6], True, VerdictWord.UNDECIDED),
    ],
)
def test_each_change_has_its_verdict(
    values: list[float], less: bool, word: VerdictWord
) -> None:
    found = judge([3.0, 3.02, 2.99], values, less_is_better=less)
    assert found.word is word
    assert found.low is not None
    assert found.high is not None
    assert found.change is not None
    assert found.low <= found.change <= found.high


def test_slowdown_that_may_be_chance_is_undecided() -> None:
    found = judge([1.8, 2.0, 2.2], [2.2, 2.7, 3.35])
    assert found.change == pytest.approx(0.375)
    assert found.p == pytest.approx(0.14, abs=0.01)
    assert found.word is VerdictWord.UNDECIDED
    assert found.needed == "9 runs in each group would decide it"


def test_change_within_tolerance_is_equivalent() -> None:
    reference, values = [100.0, 100.1, 99.9], [103.0, 103.1, 102.9]
    assert judge(reference, values).word is VerdictWord.EQUIVALENT
    assert judge(reference, values, tolerance=0.02).word is VerdictWord.WORSE
    assert judge(reference, values, tolerance=0).word is VerdictWord.WORSE
    assert judge(reference, values, tolerance=0.03).word is VerdictWord.UNDECIDED


def test_default_tolerance_equals_that_of_the_api() -> None:
    assert pytest.approx(100 * DEFAULT_TOLERANCE) == TOLERANCE


@pytest.mark.parametrize(
    ("sizes", "spreads", "tolerance"),
    [
        ((8, 8), (0.01, 0.01), 0.05),
        ((3, 3), (0.005, 0.005), 0.05),
        ((3, 10), (0.02, 0.005), 0.05),
        ((10, 3), (0.005, 0.02), 0.05),
        ((20, 20), (0.1, 0.1), 0.3),
        ((40, 40), (0.05, 0.05), 0.05),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_change_of_the_tolerance_is_rarely_called_equivalent(
    sizes: tuple[int, int], spreads: tuple[float, float], tolerance: float, sign: int
) -> None:
    found = simulated(
        sign * tolerance, sizes=sizes, spreads=spreads, tolerance=tolerance
    )
    assert found[VerdictWord.EQUIVALENT] <= 0.05 * COMPARISONS
    assert found[VerdictWord.WORSE] + found[VerdictWord.BETTER] <= 0.05 * COMPARISONS
    assert found[VerdictWord.UNDECIDED] > 0.9 * COMPARISONS


def test_no_change_is_rarely_called_a_difference() -> None:
    found = simulated(0, spreads=(0.1, 0.1), tolerance=0)
    assert 0.03 < 1 - found[VerdictWord.UNDECIDED] / COMPARISONS < 0.07
    assert simulated(0, spreads=(0.1, 0.1))[VerdictWord.UNDECIDED] > 0.97 * COMPARISONS


@pytest.mark.parametrize(
    ("change", "spread"), [(0.0, 0.03), (0.02, 0.03), (0.08, 0.03), (-0.2, 0.1)]
)
def test_suggested_number_of_runs_decides(change: float, spread: float) -> None:
    runs, _ = decisive_runs(1, 1 + change, spread**2, DEFAULT_TOLERANCE)
    assert runs is not None
    found = simulated(change, sizes=(runs, runs), spreads=(spread, spread))
    assert 1 - found[VerdictWord.UNDECIDED] / COMPARISONS > POWER - 0.03
    few = simulated(change, sizes=(runs // 2, runs // 2), spreads=(spread, spread))
    assert 1 - few[VerdictWord.UNDECIDED] / COMPARISONS < POWER - 0.1


def test_insufficient_number_of_runs_is_not_suggested_again() -> None:
    """The pooled variance has more degrees of freedom than Welch's test."""
    found = judge([1.0, 1.0], [1.0, 2.0])
    assert found.word is VerdictWord.UNDECIDED
    assert found.runs is not None
    assert found.runs > 2


@pytest.mark.parametrize(
    ("reference", "values", "reason"),
    [
        ([1.0], [2.0, 2.1], "one run does not show how much runs vary"),
        ([1.0, 1.1], [2.0], "one run does not show how much runs vary"),
        ([1.0, 3.0], [4.0, 2.0], "the observed change is exactly the tolerance"),
        ([0.0, 0.0], [1.0, -1.0], "the observed change is exactly the tolerance"),
        (
            [1.0, 3.0],
            [3.0, 3.001],
            "more than 10000 runs in each group would be needed",
        ),
    ],
)
def test_unknown_number_of_runs_has_a_reason(
    reference: list[float], values: list[float], reason: str
) -> None:
    found = judge(reference, values, tolerance=0.5)
    assert (found.word, found.runs, found.needed) == (
        VerdictWord.UNDECIDED,
        None,
        reason,
    )


def test_reference_of_zero_has_no_relative_change() -> None:
    found = judge([0.0, 0.0], [1.0, 1.1])
    assert (found.word, found.change, found.low) == (VerdictWord.WORSE, None, None)
    assert judge([0.0, 0.0], [0.0, 0.0]).word is VerdictWord.EQUIVALENT
    assert judge([0.0, 0.1, -0.1], [5.0, 5.0, 5.1]).word is VerdictWord.WORSE


def test_change_of_negative_values_has_the_right_sign() -> None:
    found = judge([-3.0, -3.1, -2.9], [-6.0, -6.1, -5.9])
    assert found.word is VerdictWord.BETTER
    assert found.change == pytest.approx(-1)
    assert found.low is not None and found.high is not None
    assert found.low < -1 < found.high < 0


@pytest.mark.filterwarnings("error")
def test_equal_values_are_judged_without_warnings() -> None:
    assert judge([1.0, 1.0], [1.0, 1.0]).word is VerdictWord.EQUIVALENT
    assert judge([1.0, 1.0], [2.0, 2.0]).word is VerdictWord.WORSE
    assert judge([0.1] * 3, [0.1] * 3, tolerance=0).word is VerdictWord.EQUIVALENT
    assert judge([1.0] * 3, [2.0, 2.1, 2.2]).word is VerdictWord.WORSE
    assert judge([1e9] * 3, [1e9, 1e9, 1e9 + 1e-6]).word is VerdictWord.EQUIVALENT
