"""Gradient boosting of the runtime, for programs that no law describes.

It needs scikit-learn, which SuperTwin does not install.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.settings.tools import NotInstalledError
from observations.models.forms import Vector
from observations.models.runs import TaggedRuns
from observations.models.validation import HeldOut, Runs, as_arrays, parts

_CONFIDENCE = 0.95
# Few runs: shallow trees with at least two runs in each leaf.
_TREES: Mapping[str, Any] = {
    "n_estimators": 200,
    "max_depth": 3,
    "min_samples_leaf": 2,
    "random_state": 0,
}


@dataclass(frozen=True)
class Boosting:
    """Trees that predict the logarithm of the seconds.

    ``half_width``: of the 95 % prediction interval, in logarithms of seconds; it comes
    from the errors on runs that were left out.
    """

    trees: Any
    half_width: float
    held_out: HeldOut

    def predict(
        self, inputs: Mapping[str, Vector], repeat: int = 1
    ) -> tuple[Vector, Vector, Vector]:
        """Return the seconds, and the ends of the prediction interval.

        ``repeat`` is ignored: the interval is always that of one run.
        """
        found = self.trees.predict(_matrix(inputs))
        low, seconds, high = (
            np.exp(found + sign * self.half_width) for sign in (-1.0, 0.0, 1.0)
        )
        return seconds, low, high


def boost(found: TaggedRuns) -> Boosting:
    """Fit and validate trees; raises NotInstalledError."""
    runs = as_arrays(found)
    errors, part = np.zeros_like(runs.seconds), np.zeros(len(runs.seconds), int)
    for number, is_out in enumerate(parts(runs)):
        predicted = _fit(runs.where(~is_out)).predict(
            _matrix(runs.where(is_out).inputs)
        )
        errors[is_out] = predicted - np.log(runs.seconds[is_out])
        part[is_out] = number
    distance = np.abs(errors)
    covered = [
        distance[part == n] <= _half_width(distance[part != n]) for n in np.unique(part)
    ]
    relative = np.abs(np.expm1(errors))
    by_group = np.add.reduceat(relative, runs.starts) / np.bincount(runs.group)
    held_out = HeldOut(
        float(by_group.mean()),
        float(by_group.max()),
        float(np.concatenate(covered).mean()),
    )
    return Boosting(_fit(runs), _half_width(distance), held_out)


def _half_width(distance: Vector) -> float:
    """Return the distance that 95 % of the left-out errors do not exceed."""
    place = int(np.ceil(_CONFIDENCE * (len(distance) + 1))) - 1
    return float(np.sort(distance)[min(place, len(distance) - 1)])


def _fit(runs: Runs) -> Any:
    try:
        from sklearn.ensemble import GradientBoostingRegressor
    except ImportError:
        raise NotInstalledError(
            "scikit-learn, which gradient boosting needs, is not installed: "
            "`.tools/pip/bin/uv pip install --python .venv/bin/python scikit-learn`"
        ) from None
    trees = GradientBoostingRegressor(**_TREES)
    return trees.fit(_matrix(runs.inputs), np.log(runs.seconds))


def _matrix(inputs: Mapping[str, Vector]) -> Vector:
    return np.column_stack([*inputs.values()])
