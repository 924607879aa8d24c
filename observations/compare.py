"""Whether some runs did better than others, and how sure that is.

Repetitions are taken for independent. Means have 95 % intervals of Student's t; two
groups are set against each other by Welch's test, which lets them spread differently.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

TEST = "Welch's t-test, two-sided, 5 %"
BETTER, WORSE, SAME, UNKNOWN = "better", "worse", "same", "unknown"
MORE, LESS = "more", "less"
_LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """The mean of some values with its interval; that of one value is not known."""

    mean: float
    low: float | None
    high: float | None
    number: int


@dataclass(frozen=True)
class Verdict:
    """How a group is beside a reference; ``word`` is better, worse, same or unknown,
    or more or less of what is neither.

    ``change`` is that of the mean, as part of the reference's, with its interval; ``p``
    is the test's.
    """

    word: str
    change: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None

    def document(self) -> dict[str, Any]:
        """As JSON, with the name of the test."""
        return {**vars(self), "test": TEST}


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and interval of at least one value."""
    mean, number = float(np.mean(values)), len(values)
    if number < 2:
        return Estimate(mean, None, None, number)
    error = float(stats.sem(values))
    if error == 0:
        return Estimate(mean, mean, mean, number)
    low, high = stats.t.interval(_LEVEL, number - 1, loc=mean, scale=error)
    return Estimate(mean, float(low), float(high), number)


def judge(
    reference: Sequence[float],
    values: Sequence[float],
    *,
    less_is_better: bool | None = True,
    tolerance: float = 0.0,
) -> Verdict:
    """Set values against a reference; a change within ``tolerance`` (a part of the
    reference's mean) is none, however sure it is. ``less_is_better`` is None for what
    is neither good nor bad.
    """
    was, now = float(np.mean(reference)), float(np.mean(values))
    change = (now - was) / abs(was) if was else None
    if min(len(reference), len(values)) < 2:
        return Verdict(UNKNOWN, change)
    p, low, high = _welch(reference, values, abs(was))
    if p >= 1 - _LEVEL or (change is not None and abs(change) <= tolerance):
        return Verdict(SAME, change, low, high, p)
    return Verdict(_word(now < was, less_is_better), change, low, high, p)


def _word(is_less: bool, less_is_better: bool | None) -> str:
    if less_is_better is None:
        return LESS if is_less else MORE
    return BETTER if is_less == less_is_better else WORSE


def _welch(
    reference: Sequence[float], values: Sequence[float], scale: float
) -> tuple[float, float | None, float | None]:
    """The test's p, and the interval of the change as part of the reference."""
    if np.std(reference) == np.std(values) == 0:  # the test divides by their spread
        same = np.mean(reference) == np.mean(values)
        change = (np.mean(values) - np.mean(reference)) / scale if scale else 0.0
        return (1.0 if same else 0.0), float(change), float(change)
    found = stats.ttest_ind(values, reference, equal_var=False)
    if not scale:
        return float(found.pvalue), None, None
    interval = found.confidence_interval(_LEVEL)
    return (
        float(found.pvalue),
        float(interval.low) / scale,
        float(interval.high) / scale,
    )
