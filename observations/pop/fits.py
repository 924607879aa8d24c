"""Laws of scaling fitted to the times of a series of runs.

Each law is linear in some coefficients, which a least-squares fit of relative errors
finds. Its parameters are ratios of coefficients, with intervals by Fieller's theorem.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

_CONFIDENCE = 0.95
_PASSES = 3
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Law:
    """A law of the time T with n threads; it is fitted to n/T if it ``fits_rate``.

    ``terms`` are the columns of the fit. A parameter is the coefficient of a term, by
    its position, divided by the sum of those ``over`` it; ``most`` is its greatest
    possible value.
    """

    name: str
    formula: str
    terms: tuple[Callable[[Vector], Vector], ...]
    parameters: Mapping[str, int]
    over: tuple[int, ...]
    most: float = math.inf
    fits_rate: bool = False


@dataclass(frozen=True)
class Interval:
    """A fitted parameter and its 95 % confidence interval, or why there is none."""

    value: float
    low: float | None = None
    high: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Fit:
    """A law fitted to a series, or the reason why it could not be.

    ``error`` is the mean relative error of the times.
    """

    law: Law
    parameters: Mapping[str, Interval] = field(default_factory=dict)
    error: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class LeastSquares:
    """Coefficients of a fit with their covariance, and the relative errors of the runs.

    ``free``: how many more runs than coefficients there are.
    """

    coefficients: Vector
    covariance: Vector
    errors: Vector
    variance: float
    free: int

    @property
    def quantile(self) -> float:
        """How many standard errors a 95 % interval reaches to each side."""
        return float(student.ppf((1 + _CONFIDENCE) / 2, self.free))


AMDAHL = Law(
    "Amdahl",
    "T = T1 (serial + (1 - serial)/n)",
    (np.ones_like, lambda n: 1 / n),
    {"serial": 0},
    (0, 1),
    1.0,
)
GUSTAFSON = Law(
    "Gustafson",
    "n T1/T = serial + (1 - serial) n",
    (np.ones_like, lambda n: n),
    {"serial": 0},
    (0, 1),
    1.0,
    fits_rate=True,
)
USL = Law(
    "USL",
    "T = T1 (1/n + contention (n - 1)/n + coherency (n - 1))",
    (lambda n: 1 / n, lambda n: (n - 1) / n, lambda n: n - 1),
    {"contention": 1, "coherency": 2},
    (0,),
)
STRONG, WEAK = (AMDAHL, USL), (GUSTAFSON,)


def fit(law: Law, threads: Sequence[int], seconds: Sequence[float]) -> Fit:
    """Fit a law to the times of runs with some numbers of threads."""
    n, times = np.array(threads, float), np.array(seconds, float)
    if len(set(threads)) < len(law.terms):
        needed = len(law.terms)
        return Fit(law, reason=f"it needs runs with {needed} numbers of threads")
    columns = np.column_stack([term(n) for term in law.terms])
    found = least_squares(columns, n / times if law.fits_rate else times)
    parameters = {name: _ratio(law, at, found) for name, at in law.parameters.items()}
    return Fit(law, parameters, float(np.abs(found.errors).mean()))


def least_squares(columns: Vector, measured: Vector) -> LeastSquares:
    """Fit a linear combination of columns so that the relative errors are smallest.

    ``columns``: one row for each run, linearly independent.
    """
    found, scale = _solved(columns, measured, measured), measured
    # Relative to measured times alone, noise makes the fit too small by twice its
    # variance, because times that are too short by chance count more.
    for _ in range(_PASSES):
        if not (columns @ found > 0).all():
            break
        scale = columns @ found
        found = _solved(columns, measured, scale)
    errors = (measured - columns @ found) / scale
    free = len(measured) - len(found)
    variance = float(errors @ errors) / max(free, 1)
    scaled = columns / scale[:, None]
    covariance = np.asarray(np.linalg.inv(scaled.T @ scaled) * variance, float)
    return LeastSquares(found, covariance, errors, variance, free)


def _solved(columns: Vector, measured: Vector, scale: Vector) -> Vector:
    scaled = columns / scale[:, None]
    found, *_ = np.linalg.lstsq(scaled, measured / scale, rcond=None)
    return np.asarray(found, float)


def _ratio(law: Law, at: int, fitted: LeastSquares) -> Interval:
    """Return a parameter with Fieller's interval, within what is possible."""
    found, covariance = fitted.coefficients, fitted.covariance
    over, under = np.zeros_like(found), np.zeros_like(found)
    over[at], under[[*law.over]] = 1.0, 1.0
    value = _possible(float(over @ found / (under @ found)), law)
    if fitted.free < 1:
        return Interval(value, reason="there are too few runs for an interval")
    quantile = fitted.quantile**2
    a = (under @ found) ** 2 - quantile * under @ covariance @ under
    b = (over @ found) * (under @ found) - quantile * over @ covariance @ under
    c = (over @ found) ** 2 - quantile * over @ covariance @ over
    if a <= 0:
        return Interval(value, reason="the times vary too much for an interval")
    half = math.sqrt(max(float(b * b - a * c), 0.0))
    low, high = (_possible(float((b + sign * half) / a), law) for sign in (-1, 1))
    return Interval(value, low, high)


def _possible(value: float, law: Law) -> float:
    return min(max(value, 0.0), law.most)
