"""Laws of scaling, fitted to series with known parameters."""

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from observations.pop.fits import AMDAHL, GUSTAFSON, USL, Law, fit, least_squares

THREADS = [1, 2, 4, 8, 16] * 2
Time = Callable[[int], float]


def amdahl(n: int) -> float:
    return 3 * (0.1 + 0.9 / n)


def gustafson(n: int) -> float:
    return 3 * n / (0.2 + 0.8 * n)


def usl(n: int) -> float:
    return 3 * (1 + 0.05 * (n - 1) + 0.002 * n * (n - 1)) / n


LAWS = [
    (AMDAHL, amdahl, {"serial": 0.1}),
    (GUSTAFSON, gustafson, {"serial": 0.2}),
    (USL, usl, {"contention": 0.05, "coherency": 0.002}),
]


@pytest.mark.parametrize(("law", "time", "known"), LAWS, ids=lambda one: str(one)[:20])
def test_exact_series_gives_its_parameters(
    law: Law, time: Time, known: dict[str, float]
) -> None:
    found = fit(law, THREADS, [time(n) for n in THREADS])
    assert {n: p.value for n, p in found.parameters.items()} == pytest.approx(known)
    for parameter in found.parameters.values():
        assert parameter.low == pytest.approx(parameter.value, abs=1e-6)
        assert parameter.high == pytest.approx(parameter.value, abs=1e-6)
    assert found.error == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("law", "time", "known"), LAWS, ids=lambda one: str(one)[:20])
def test_interval_has_the_parameter_about_as_often_as_it_says(
    law: Law, time: Time, known: dict[str, float]
) -> None:
    chance, covered = random.Random(22), dict.fromkeys(known, 0)
    for _ in range(400):
        seconds = [time(n) * chance.gauss(1, 0.02) for n in THREADS]
        for name, found in fit(law, THREADS, seconds).parameters.items():
            assert found.low is not None
            assert found.high is not None
            covered[name] += found.low <= known[name] <= found.high
    # 95 % of 400; the bounds are four standard deviations away.
    assert all(362 <= count <= 398 for count in covered.values())


def test_noise_does_not_bias_the_fit() -> None:
    chance, n = np.random.default_rng(22), np.array(THREADS, float)
    columns = np.column_stack([term(n) for term in AMDAHL.terms])
    truth = columns @ [0.3, 2.7]
    found = [
        least_squares(columns, truth * chance.normal(1, 0.2, len(n))).coefficients.sum()
        for _ in range(1000)
    ]
    # Four standard errors; twice the variance would be 8 %.
    assert np.mean(found) == pytest.approx(3, rel=0.02)


def test_too_few_runs_have_a_reason() -> None:
    assert "2 numbers of threads" in fit(AMDAHL, [2, 2], [1, 1]).reason
    assert "3 numbers of threads" in fit(USL, [1, 2], [2, 1]).reason
    serial = fit(AMDAHL, [1, 2], [2, 1.5]).parameters["serial"]
    assert serial.value == pytest.approx(0.5)
    assert serial.low is None
    assert "too few runs" in serial.reason


@given(st.lists(st.floats(0.1, 10), min_size=10, max_size=10))
def test_parameters_stay_within_what_is_possible(seconds: list[float]) -> None:
    for law in (AMDAHL, GUSTAFSON, USL):
        for found in fit(law, THREADS, seconds).parameters.values():
            assert 0 <= found.value <= law.most
            if found.low is not None and found.high is not None:
                assert 0 <= found.low <= found.high <= law.most
