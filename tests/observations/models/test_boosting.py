"""Gradient boosting, which predicts only where it is better than a formula."""

import sys
from dataclasses import replace

import pytest

from core.settings.tools import NotInstalledError
from observations.models.model import RuntimeModel, fit_model
from observations.models.runs import tagged_runs
from tests.observations.models.synthetic import Law, grid, synthetic_rows

SIZES = grid([1, 2, 4], [10 ** (3 + third / 3) for third in range(12)])


def model(law: Law) -> RuntimeModel:
    rows = synthetic_rows(law, SIZES, noise=0.03)
    return fit_model(tagged_runs("solver", "n1", rows), boosting=True)


def steps(threads: float, n: float) -> float:
    """Work that slows down when it exceeds a cache."""
    return 1e-7 * n * (1 if n < 5e4 else 3 if n < 1e6 else 8) / threads


def test_trees_predict_if_no_formula_fits() -> None:
    found = model(steps)
    assert found.boosting
    assert found.is_boosting_better
    assert found.boosting.held_out.mean < 0.5 * found.held_out.mean
    expected = found.predict({"threads": 2, "n": 1e5})
    assert expected.low < steps(2, 1e5) < expected.high
    assert found.boosting.held_out.covered > 0.85


def test_formula_predicts_values_that_were_not_measured() -> None:
    found = model(steps)
    formula = replace(found, boosting=None)
    for n in (2e5, 4e7):
        inputs = {"threads": 2, "n": n}
        assert found.predict(inputs) == formula.predict(inputs)


def test_formula_predicts_if_it_is_better() -> None:
    found = model(lambda threads, n: 1e-7 * n / threads)
    assert found.boosting
    assert not found.is_boosting_better
    expected = found.predict({"threads": 2, "n": 1e5})
    assert expected.seconds == pytest.approx(0.005, rel=0.05)


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(NotInstalledError, match="scikit-learn") as caught:
        model(steps)
    assert caught.value.code == "not-installed"
