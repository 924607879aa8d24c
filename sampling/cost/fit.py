"""Non-negative linear fits with errors, and what they predict.

DCDB's equation 1 is the line through two measured loads; this is the line, or plane,
closest to many, with its errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_Z = 1.959964  # two-sided 95 % quantile of the normal distribution
# Errors grow with the measured value; below this share of the largest value, they do
# not shrink further.
_FLOOR = 0.05


class PredictionInterval(NamedTuple):
    """A predicted value and the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> "PredictionInterval":
        """All three numbers times a factor."""
        return PredictionInterval(*(factor * number for number in self))


@dataclass(frozen=True, eq=False)
class Fit:
    """``y = base + Σ coefficient × term``, no coefficient below 0.

    ``errors`` are the standard errors of base and coefficients, 0 for a coefficient
    that was set to 0; ``worst`` is the largest residual in the unit of y, ``most`` the
    largest measured value of each term; ``spread`` describes the residuals relative to
    y.
    """

    terms: tuple[str, ...]
    coefficients: Floats
    covariance: Floats
    spread: float
    freedom: int
    r2: float
    worst: float
    most: Floats

    @property
    def errors(self) -> Floats:
        """Standard errors of base and coefficients."""
        return np.sqrt(np.diag(self.covariance))

    def predict(self, terms: Sequence[float], base: bool = True) -> PredictionInterval:
        """Predict y; without the base, what a load adds."""
        x = np.array([1.0 if base else 0.0, *terms])
        value = float(x @ self.coefficients)
        variance = float(x @ self.covariance @ x) + (self.spread * value) ** 2
        half = _t(self.freedom) * variance**0.5
        return PredictionInterval(
            value, max(value - half, min(value, 0.0)), value + half
        )

    def beyond(self, terms: Sequence[float]) -> float:
        """The largest ratio of a term to its largest measured value; 0.0 if idle."""
        pairs = zip(terms, self.most, strict=True)
        return max(
            (term / most if most else float("inf") for term, most in pairs if term),
            default=0.0,
        )


def fit(
    terms: Sequence[str], rows: Sequence[Sequence[float]], measured: Sequence[float]
) -> Fit:
    """Fit measured values, shape (n,), to rows of terms, shape (n, k), n > k."""
    x = np.column_stack([np.ones(len(rows)), np.array(rows, np.float64)])
    y = np.array(measured, np.float64)
    weight = 1 / (np.abs(y) + _FLOOR * (np.abs(y).max() or 1.0))
    kept = _kept(x, y, weight)
    coefficients = np.zeros(x.shape[1])
    coefficients[kept] = _solve(x[:, kept], y, weight)
    residual = y - x @ coefficients
    freedom = max(len(y) - len(kept), 1)
    spread = float(np.sqrt(np.sum((weight * residual) ** 2) / freedom))
    covariance = np.zeros((x.shape[1], x.shape[1]))
    weighted = x[:, kept] * weight[:, None]
    covariance[np.ix_(kept, kept)] = spread**2 * np.linalg.pinv(weighted.T @ weighted)
    return Fit(
        tuple(terms),
        coefficients,
        covariance,
        spread,
        freedom,
        _r2(y, residual),
        float(np.abs(residual).max()),
        x[:, 1:].max(axis=0),
    )


def _kept(x: Floats, y: Floats, weight: Floats) -> list[int]:
    """The terms that remain after terms with negative coefficients are removed."""
    kept = [place for place in range(x.shape[1]) if x[:, place].any()]
    while True:
        found = _solve(x[:, kept], y, weight)
        if not kept or found.min() >= 0:
            return kept
        # Terms differ in size: remove the one that subtracts most.
        taken = found * np.abs(x[:, kept]).max(axis=0)
        kept.pop(int(np.argmin(taken)))


def _solve(x: Floats, y: Floats, weight: Floats) -> Floats:
    """Weighted least squares; columns are scaled: they differ by powers of ten."""
    if not x.shape[1]:
        return np.zeros(0)
    scale = np.abs(x).max(axis=0)
    found = np.linalg.lstsq(x / scale * weight[:, None], y * weight, rcond=None)[0]
    return np.asarray(found / scale, np.float64)


def _r2(y: Floats, residual: Floats) -> float:
    total = float(np.sum((y - y.mean()) ** 2))
    return 1 - float(np.sum(residual**2)) / total if total else 1.0


def _t(freedom: int) -> float:
    """Student's quantile for a 95 % interval (Cornish-Fisher expansion)."""
    z, n = _Z, freedom
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )
