"""Choose a model by its error on runs that were left out.

All runs with the same inputs are left out together: the error is that of a prediction
for inputs that were never measured.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from observations.models.forms import Form, Formula, Power, Vector, work_of
from observations.models.runs import THREADS, Inputs, TaggedRuns
from observations.pop.fits import LeastSquares, least_squares

# The largest condition number of the normal equations: above, terms are dependent.
_DEPENDENT = 1e8
# The ridge keeps singular systems solvable; rounding may give a term a little below 0.
_RIDGE, _NEGATIVE = 1e-9, -1e-6
# Repeating the choice for more parts is slow with two settings, and changes little.
_PARTS = 12


@dataclass(frozen=True)
class Runs:
    """Runs as arrays: inputs, seconds, and the number of its combination of inputs."""

    inputs: Mapping[str, Vector]
    seconds: Vector
    group: NDArray[np.intp]

    @property
    def starts(self) -> NDArray[np.intp]:
        """The first run of each group."""
        return np.flatnonzero(np.diff(self.group, prepend=-1))

    @property
    def threads(self) -> Vector:
        """The threads of each run; 1 if they are not known."""
        return self.inputs.get(THREADS, np.ones_like(self.seconds))

    def where(self, kept: NDArray[np.bool_]) -> "Runs":
        """Return some of the runs."""
        inputs = {name: values[kept] for name, values in self.inputs.items()}
        return Runs(inputs, self.seconds[kept], self.group[kept])


@dataclass(frozen=True)
class Fitted:
    """A formula with its coefficients: the seconds of each term at ``scale``."""

    formula: Formula
    scale: Vector
    fit: LeastSquares

    def predict(
        self, inputs: Mapping[str, Vector], repeat: int = 1
    ) -> tuple[Vector, Vector, Vector]:
        """Return the seconds, and the ends of the 95 % prediction interval.

        It is an interval for the mean of ``repeat`` runs.
        """
        columns = self.formula.columns(inputs) / self.scale
        seconds = columns @ self.fit.coefficients
        uncertain = np.einsum("rp,pq,rq->r", columns, self.fit.covariance, columns)
        spread = np.sqrt(uncertain + self.fit.variance * seconds**2 / repeat)
        half = self.fit.quantile * spread
        return seconds, np.maximum(seconds - half, 0.0), seconds + half


@dataclass(frozen=True)
class HeldOut:
    """Errors on runs that were left out, relative to their times.

    Each combination of inputs has the mean error of its runs; ``mean`` and ``greatest``
    are of these. ``covered`` is the share of runs within their prediction interval.
    """

    mean: float
    greatest: float
    covered: float


def as_arrays(found: TaggedRuns) -> Runs:
    """Return runs as arrays."""
    number = {values: place for place, values in enumerate(found.combinations)}
    inputs = {n: np.array([run.inputs[n] for run in found.runs]) for n in found.inputs}
    seconds = np.array([run.seconds for run in found.runs])
    group = np.array([number[found.values(run)] for run in found.runs])
    return Runs(inputs, seconds, group)


def of_one(inputs: Inputs) -> Mapping[str, Vector]:
    """Return the inputs of one run as arrays."""
    return {name: np.array([value]) for name, value in inputs.items()}


def validate(
    runs: Runs, forms: Sequence[Form], powers: Sequence[Mapping[str, Power]]
) -> HeldOut:
    """Leave out groups, choose and fit a model without them, and predict them.

    Groups are left out one at a time, or in twelve parts if there are more.
    """
    relative = np.zeros_like(runs.seconds)
    covered = np.zeros(len(runs.seconds), bool)
    for is_out in parts(runs):
        left_out, others = runs.where(is_out), runs.where(~is_out)
        model = fit(others, choose(others, forms, powers))
        seconds, low, high = model.predict(left_out.inputs)
        relative[is_out] = np.abs(seconds - left_out.seconds) / left_out.seconds
        covered[is_out] = (low <= left_out.seconds) & (left_out.seconds <= high)
    errors = np.add.reduceat(relative, runs.starts) / np.bincount(runs.group)
    return HeldOut(float(errors.mean()), float(errors.max()), float(covered.mean()))


def parts(runs: Runs) -> Iterator[NDArray[np.bool_]]:
    """Yield which runs are left out together: a group, or a twelfth of them.

    The groups of a part are drawn, always in the same way: in their order, a part might
    have all runs with one value.
    """
    drawn = np.random.default_rng(0).permutation(len(runs.starts)) % _PARTS
    for part in range(min(_PARTS, len(drawn))):
        yield drawn[runs.group] == part


def fit(runs: Runs, formula: Formula) -> Fitted:
    """Fit the coefficients, which are seconds at the greatest inputs."""
    greatest = {name: values.max(keepdims=True) for name, values in runs.inputs.items()}
    scale = formula.columns(greatest)[0]
    columns = formula.columns(runs.inputs) / scale
    return Fitted(formula, scale, least_squares(columns, runs.seconds))


def choose(
    runs: Runs, forms: Sequence[Form], powers: Sequence[Mapping[str, Power]]
) -> Formula:
    """Return the formula with the fewest terms that is as good as the best.

    That is, its error on groups that are left out is at most one standard error above
    the smallest.
    """
    works = np.array([work_of(one, runs.inputs) for one in powers])
    found = list(_errors(runs, forms, works))
    best, deviation, _, _ = min(found)
    good = [one for one in found if one[0] <= best + deviation]
    _, _, form, place = min(good, key=lambda one: (len(forms[one[2]].terms), one[0]))
    return Formula(forms[form], powers[place])


def _errors(
    runs: Runs, forms: Sequence[Form], works: Vector
) -> Iterator[tuple[float, float, int, int]]:
    """Yield mean error, its standard error, and the numbers of form and powers."""
    groups = len(runs.starts)
    for number, form in enumerate(forms):
        if len(form.terms) >= groups:
            continue
        error = _held_out(runs, form, works)
        for place in np.flatnonzero(np.isfinite(error).all(axis=1)):
            deviation = error[place].std(ddof=1) / np.sqrt(groups)
            yield float(error[place].mean()), float(deviation), number, int(place)


def _held_out(runs: Runs, form: Form, works: Vector) -> Vector:
    """Return the mean relative error of each group when it is left out.

    There is a row for each combination of powers. Leaving out a group subtracts its
    part of the normal equations, so nothing is fitted twice. A row is infinite if a
    term would take negative time, or if the terms are dependent.
    """
    factor = np.where(form.is_work, works[:, :, None], 1.0)
    columns = form.of_threads(runs.threads) * factor / runs.seconds[:, None]
    size = np.sqrt((columns**2).mean(axis=1, keepdims=True))
    columns = columns / np.where(size, size, 1.0)
    squares = np.einsum("wrp,wrq->wrpq", columns, columns)
    grams = np.add.reduceat(squares, runs.starts, axis=1)
    sums = np.add.reduceat(columns, runs.starts, axis=1)
    gram, total = grams.sum(axis=1), sums.sum(axis=1)
    whole = _solved(gram, total)
    without = _solved(gram[:, None] - grams, total[:, None] - sums)
    places = np.searchsorted(np.unique(runs.group), runs.group)
    ratios = np.einsum("wrp,wrp->wr", columns, without[:, places])
    counts = np.diff(np.append(runs.starts, len(runs.seconds)))
    errors = np.add.reduceat(np.abs(ratios - 1), runs.starts, axis=1) / counts
    # The largest divided by the smallest eigenvalue, without dividing by zero.
    values = np.linalg.eigvalsh(gram)
    is_sound = values[:, 0] * _DEPENDENT > values[:, -1]
    is_sound &= (whole > _NEGATIVE).all(axis=1)
    return np.where(is_sound[:, None], errors, np.inf)


def _solved(gram: Vector, right: Vector) -> Vector:
    """Solve normal equations; the ridge only matters where they have no solution."""
    ridge = _RIDGE * gram.trace(axis1=-2, axis2=-1)[..., None, None]
    stable = gram + ridge * np.eye(gram.shape[-1])
    return np.array(np.linalg.solve(stable, right[..., None])[..., 0])
