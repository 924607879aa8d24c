"""The fit on data whose coefficients are known."""

import numpy as np
import pytest

from sampling.cost.fit import PredictionInterval, _t, fit

TERMS = ("fetches", "values")


def made(noise: float, runs: int = 40) -> tuple[list[tuple[float, float]], list[float]]:
    """Data with CPU = 0.5 + 0.02 fetches + 0.0003 values, with relative noise."""
    random = np.random.default_rng(7)
    rows = [
        (float(f), float(v))
        for f, v in zip(
            random.integers(0, 250, runs), random.integers(0, 8000, runs), strict=True
        )
    ]
    exact = [0.5 + 0.02 * f + 0.0003 * v for f, v in rows]
    return rows, [y * (1 + noise * random.standard_normal()) for y in exact]


def test_fit_recovers_the_coefficients() -> None:
    found = fit(TERMS, *made(0.0))
    assert found.coefficients == pytest.approx([0.5, 0.02, 0.0003])
    assert found.r2 == pytest.approx(1.0)
    assert found.worst == pytest.approx(0.0, abs=1e-9)
    value, low, high = found.predict((100.0, 1000.0))
    assert (value, low, high) == pytest.approx((2.8, 2.8, 2.8))
    assert found.predict((100.0, 1000.0), base=False).value == pytest.approx(2.3)


def test_errors_of_the_fit_cover_the_coefficients() -> None:
    found = fit(TERMS, *made(0.1))
    off = np.abs(found.coefficients - [0.5, 0.02, 0.0003])
    assert (found.errors > 0).all()
    assert (off < 4 * found.errors).all()
    assert found.spread == pytest.approx(0.1, rel=0.5)
    value, low, high = found.predict((100.0, 1000.0))
    assert low < 2.8 < high
    assert low < value < high


def test_more_noise_makes_wider_intervals() -> None:
    calm, wild = (
        fit(TERMS, *made(noise)).predict((100.0, 5000.0)) for noise in (0.02, 0.3)
    )
    assert wild.high - wild.low > 3 * (calm.high - calm.low)


def test_no_coefficient_is_negative() -> None:
    rows, _ = made(0.0)
    measured = [1 + 0.02 * f - 0.00001 * v for f, v in rows]
    found = fit(TERMS, rows, measured)
    assert (found.coefficients >= 0).all()
    assert found.coefficients[2] == 0
    assert found.errors[2] == 0
    assert found.coefficients[1] == pytest.approx(0.02, rel=0.1)


def test_unvaried_term_costs_nothing_and_is_extrapolated() -> None:
    found = fit(TERMS, [(0.0, 0.0), (10.0, 0.0), (20.0, 0.0)], [1.0, 2.0, 3.0])
    assert found.coefficients == pytest.approx([1.0, 0.1, 0.0])
    assert found.beyond((30.0, 0.0)) == pytest.approx(1.5)
    assert found.beyond((30.0, 1.0)) == float("inf")
    assert found.beyond((0.0, 0.0)) == 0


def test_idle_measurements_alone_do_not_divide_by_zero() -> None:
    found = fit(TERMS, [(0.0, 0.0), (1.0, 5.0)], [0.0, 0.0])
    assert found.predict((10.0, 10.0)) == PredictionInterval(0.0, 0.0, 0.0)


@pytest.mark.parametrize(("freedom", "known"), [(4, 2.776), (10, 2.228), (60, 2.0)])
def test_students_quantile_is_correct(freedom: int, known: float) -> None:
    assert _t(freedom) == pytest.approx(known, rel=0.01)
