"""Whether one group of runs did better than another, and how certain that is.

Repetitions are assumed to be independent. The mean of a group has a 95 % interval by
Student's t. Two groups are compared by the ratio of their means, whose 95 % interval is
Fieller's with Welch's degrees of freedom: the variances of the groups may differ, and
the uncertainty of the reference counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import special

from observations.comparison.decisive_runs import POWER, critical_value, decisive_runs

# As a fraction of the reference's mean.
DEFAULT_TOLERANCE = 0.05
TEST = (
    "better, worse, more or less: the 95 % interval of the change (Welch's t-test) is "
    "beyond the tolerance; equivalent: it is within (two one-sided tests, 2.5 % each); "
    "undecided: neither, and the number of runs in each group that would decide it "
    f"with a power of {100 * POWER:.0f} %"
)


class VerdictWord(StrEnum):
    """All verdicts; MORE and LESS are for measures that are neither good nor bad."""

    BETTER = "better"
    WORSE = "worse"
    MORE = "more"
    LESS = "less"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"

    @property
    def is_different(self) -> bool:
        """Whether the groups differ by more than the tolerance."""
        return self not in (VerdictWord.EQUIVALENT, VerdictWord.UNDECIDED)


@dataclass(frozen=True)
class MeanEstimate:
    """The mean of some values and its interval; a single value has no interval."""

    mean: float
    low: float | None
    high: float | None
    number: int


@dataclass(frozen=True)
class ComparisonVerdict:
    """How a group compares with a reference.

    ``change`` of the mean, its interval from ``low`` to ``high``, and ``tolerance`` are
    fractions of the reference's mean. ``p`` is that of Welch's test for equal means. If
    the word is undecided, ``runs`` in each group would decide it, or ``reason`` says
    why that number is unknown.
    """

    word: VerdictWord
    tolerance: float
    change: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    runs: int | None = None
    reason: str = ""

    @property
    def needed(self) -> str:
        """Say what would decide it; empty if it is decided."""
        if self.runs is None:
            return self.reason
        return f"{self.runs} runs in each group would decide it"


@dataclass(frozen=True)
class _Sample:
    """A group in three numbers; ``variance`` is that of its values, NaN for one."""

    mean: float
    variance: float
    number: int


def estimate(values: Sequence[float]) -> MeanEstimate:
    """Return mean and interval of at least one value."""
    one = _sample(values)
    if one.number < 2:
        return MeanEstimate(one.mean, None, None, 1)
    half = critical_value(one.number - 1) * float(np.sqrt(one.variance / one.number))
    return MeanEstimate(one.mean, one.mean - half, one.mean + half, one.number)


def judge(
    reference: Sequence[float],
    values: Sequence[float],
    *,
    less_is_better: bool | None = True,
    tolerance: float = DEFAULT_TOLERANCE,
) -> ComparisonVerdict:
    """Compare values with a reference; each needs at least one value.

    ``tolerance`` is the change that does not matter, as a fraction of the reference's
    mean. ``less_is_better`` is None for a measure that is neither good nor bad.
    """
    was, now = _sample(reference), _sample(values)
    change = (now.mean - was.mean) / abs(was.mean) if was.mean else None
    if min(was.number, now.number) < 2:
        reason = "one run does not show how much runs vary"
        return ComparisonVerdict(
            VerdictWord.UNDECIDED, tolerance, change, reason=reason
        )
    if was.variance == now.variance == 0:
        word = _of_constants(was.mean, now.mean, tolerance, less_is_better)
        return ComparisonVerdict(word, tolerance, change, change, change)
    pair = _Pair(was, now)
    low, high = pair.interval()
    word = _word(pair, tolerance, less_is_better)
    runs, reason = None, ""
    if word is VerdictWord.UNDECIDED:
        runs, reason = decisive_runs(was.mean, now.mean, pair.pooled, tolerance)
        # This number of runs did not decide it, so ask for more.
        runs = runs and max(runs, min(was.number, now.number) + 1)
    return ComparisonVerdict(word, tolerance, change, low, high, pair.p, runs, reason)


def _word(pair: "_Pair", tolerance: float, less_is_better: bool | None) -> VerdictWord:
    part = float(np.sign(pair.was.mean)) * tolerance
    below, above = pair.distance(1 - part), pair.distance(1 + part)
    critical = critical_value(pair.freedom)
    if above > critical:
        return _direction(False, less_is_better)
    if below < -critical:
        return _direction(True, less_is_better)
    if below > critical and above < -critical:
        return VerdictWord.EQUIVALENT
    return VerdictWord.UNDECIDED


def _of_constants(
    was: float, now: float, tolerance: float, less_is_better: bool | None
) -> VerdictWord:
    """Judge groups without any variance by their values alone."""
    if abs(now - was) <= tolerance * abs(was):
        return VerdictWord.EQUIVALENT
    return _direction(now < was, less_is_better)


def _direction(is_less: bool, less_is_better: bool | None) -> VerdictWord:
    if less_is_better is None:
        return VerdictWord.LESS if is_less else VerdictWord.MORE
    return VerdictWord.BETTER if is_less == less_is_better else VerdictWord.WORSE


def _sample(values: Sequence[float]) -> _Sample:
    number, mean = len(values), float(np.mean(values))
    if number < 2:
        return _Sample(mean, np.nan, number)
    # Rounding would give equal values a tiny variance.
    if min(values) == max(values):
        return _Sample(float(values[0]), 0.0, number)
    return _Sample(mean, float(np.var(values, ddof=1)), number)


class _Pair:
    """A reference and a group; at least one of them has a variance above 0."""

    def __init__(self, was: _Sample, now: _Sample) -> None:
        self.was, self.now = was, now
        self._errors = was.variance / was.number, now.variance / now.number
        spread = sum(self._errors)
        parts = zip(self._errors, (was.number - 1, now.number - 1), strict=True)
        self.freedom = spread**2 / sum(error**2 / free for error, free in parts)
        free = (was.number - 1) * was.variance + (now.number - 1) * now.variance
        self.pooled = free / (was.number + now.number - 2)

    def distance(self, ratio: float) -> float:
        """Standard errors from ``ratio`` × the reference's mean to the group's mean."""
        error = np.sqrt(self._errors[1] + ratio**2 * self._errors[0])
        apart = self.now.mean - ratio * self.was.mean
        # The error is zero if the ratio is zero and the group has no variance.
        return float(apart / error) if error else float(np.sign(apart) * np.inf)

    @property
    def p(self) -> float:
        """The two-sided p of Welch's test for equal means."""
        return float(2 * special.stdtr(self.freedom, -abs(self.distance(1))))

    def interval(self) -> tuple[float | None, float | None]:
        """Fieller's interval of the change; none if the reference may be zero."""
        square = critical_value(self.freedom) ** 2
        a = self.was.mean**2 - square * self._errors[0]
        b = self.was.mean * self.now.mean
        c = self.now.mean**2 - square * self._errors[1]
        if a <= 0:
            return None, None
        root = float(np.sqrt(max(b**2 - a * c, 0.0)))
        sign = float(np.sign(self.was.mean))
        ends = sign * ((b - root) / a - 1), sign * ((b + root) / a - 1)
        return min(ends), max(ends)
