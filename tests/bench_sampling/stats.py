"""Means and slopes with their 95 % intervals."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

# Student's t, 97.5 %, of 1 to 10 degrees of freedom; from there on a series does.
_FEW = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_Z = 1.959964


class Estimate(NamedTuple):
    """A value, half the width of its 95 % interval (NaN: unknown), and of how many."""

    value: float
    within: float
    number: int

    def __str__(self) -> str:
        if math.isnan(self.within):
            return f"{self.value:.2f}"
        return f"{self.value:.2f} ± {self.within:.2f}"


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
        return Estimate(float(np.mean(values)), math.nan, number)
    error = float(np.std(values, ddof=1)) / math.sqrt(number)
    return Estimate(float(np.mean(values)), t_975(number - 1) * error, number)


def slope(times: Sequence[float], values: Sequence[float], most: int = 30) -> Estimate:
    """Change of a value by unit of time, of the means of at most so many pieces.

    Neighbours in time are alike; the pieces' means are nearly independent.
    """
    pieces = min(most, len(times))
    x = np.array([np.mean(piece) for piece in np.array_split(times, pieces)])
    y = np.array([np.mean(piece) for piece in np.array_split(values, pieces)])
    if pieces < 3:
        return Estimate(math.nan, math.nan, pieces)
    spread = float(np.sum((x - x.mean()) ** 2))
    value = float(np.sum((x - x.mean()) * (y - y.mean()))) / spread
    rest = y - y.mean() - value * (x - x.mean())
    error = math.sqrt(float(np.sum(rest**2)) / (pieces - 2) / spread)
    return Estimate(value, t_975(pieces - 2) * error, pieces)


def changes(logs: Sequence[float]) -> Estimate:
    """The mean change in % that logarithms of ratios tell.

    Of logarithms, since a mean of ratios is above 1 where two things only scatter.
    """
    found = mean(logs)
    ratio = math.exp(found.value)
    return Estimate(100 * (ratio - 1), 100 * ratio * found.within, found.number)
