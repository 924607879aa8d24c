"""Means, pseudo-medians and slopes with their 95 % intervals."""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

# Student's t, 97.5 %, for 1 to 10 degrees of freedom; a series gives the others.
_FEW = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_Z = 1.959964


class Estimate(NamedTuple):
    """A value, the ends of its 95 % interval (NaN: unknown), and the sample size."""

    value: float
    low: float
    high: float
    number: int

    @property
    def within(self) -> float:
        """The distance of the farther end."""
        return max(self.high - self.value, self.value - self.low)

    def __str__(self) -> str:
        below, above = self.value - self.low, self.high - self.value
        if math.isnan(self.within):
            return f"{self.value:.2f}"
        if f"{below:.2f}" == f"{above:.2f}":
            return f"{self.value:.2f} ± {self.within:.2f}"
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def t_975(freedom: int) -> float:
    """Student's t at 97.5 %."""
    if freedom <= len(_FEW):
        return _FEW[freedom - 1]
    z, n = _Z, freedom
    first = (z**3 + z) / (4 * n)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    return z + first + second + third


def mean(values: Sequence[float]) -> Estimate:
    """The mean of independent values."""
    number = len(values)
    if number < 2:
        return _around(float(np.mean(values)), math.nan, number)
    error = float(np.std(values, ddof=1)) / math.sqrt(number)
    return _around(float(np.mean(values)), t_975(number - 1) * error, number)


def slope(times: Sequence[float], values: Sequence[float], most: int = 30) -> Estimate:
    """Change of a value by unit of time, from the means of at most ``most`` pieces.

    Neighbours in time are correlated; the means of pieces are nearly independent.
    """
    pieces = min(most, len(times))
    x = np.array([np.mean(piece) for piece in np.array_split(times, pieces)])
    y = np.array([np.mean(piece) for piece in np.array_split(values, pieces)])
    if pieces < 3:
        return _around(math.nan, math.nan, pieces)
    spread = float(np.sum((x - x.mean()) ** 2))
    value = float(np.sum((x - x.mean()) * (y - y.mean()))) / spread
    rest = y - y.mean() - value * (x - x.mean())
    error = math.sqrt(float(np.sum(rest**2)) / (pieces - 2) / spread)
    return _around(value, t_975(pieces - 2) * error, pieces)


def _around(value: float, within: float, number: int) -> Estimate:
    return Estimate(value, value - within, value + within, number)


def typical(values: Sequence[float]) -> Estimate:
    """The pseudo-median (Hodges and Lehmann): the median of the means of all pairs.

    Outliers move it little. Its interval inverts Wilcoxon's signed-rank test, and holds
    for symmetric distributions. Fewer than six values give no interval.
    """
    number = len(values)
    first, second = np.triu_indices(number)
    means = np.sort(np.asarray(values)[[first, second]].mean(axis=0))
    value, outside = float(np.median(means)), _outside(number)
    if not outside:
        return _around(value, math.nan, number)
    return Estimate(value, float(means[outside - 1]), float(means[-outside]), number)


def _outside(number: int) -> int:
    """The index, from 1, of the pair mean at which the interval begins; 0 for none.

    So many sums of signed ranks have a probability of at most 2.5 % together.
    """
    cases = [1]
    for rank in range(1, number + 1):
        longer = [*cases, *[0] * rank]
        cases = [a + b for a, b in zip(longer, [0] * rank + cases, strict=True)]
    return sum(40 * below <= 2**number for below in accumulate(cases))


def changes(
    logs: Sequence[float], of: Callable[[Sequence[float]], Estimate] = typical
) -> Estimate:
    """The change in %, from logarithms of ratios.

    Logarithms, as the mean of ratios of two equal, noisy values is above 1.
    """
    found = of(logs)
    value, low, high = (100 * math.expm1(one) for one in found[:3])
    return Estimate(value, low, high, found.number)
