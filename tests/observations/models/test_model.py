"""Models fitted to runs with a known law."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from observations.errors import ModelInputError
from observations.models.forms import FORMS, machine_form
from observations.models.model import RuntimeModel, fit_model
from observations.models.runs import tagged_runs
from observations.models.validation import as_arrays, choose, of_one, parts
from observations.models.validation import fit as fit_formula
from observations.pop.fits import AMDAHL, fit
from tests.observations.models.synthetic import Law, grid, synthetic_rows, threads

COUNTS = threads(1, 2, 3, 4, 6, 8)
SIZES = grid([1, 2, 4, 8], [256, 512, 1024, 2048])
PLAIN = [form for form in FORMS if not form.has_start]
RELIABLE = 400


def model(rows: list[dict[str, Any]]) -> RuntimeModel:
    return fit_model(tagged_runs("solver", "n1", rows))


def amdahl(threads: float) -> float:
    return 3 * (0.1 + 0.9 / threads)


def usl(threads: float) -> float:
    return 3 * (1 + 0.05 * (threads - 1) + 0.004 * threads * (threads - 1)) / threads


def squared(threads: float, n: float) -> float:
    return 1e-6 * n**2 * (0.05 + 0.95 / threads)


def start(threads: float, n: float) -> float:
    return 0.5 + 1e-8 * n**3 / threads


def sorting(threads: float, n: float) -> float:
    return 1e-7 * n * float(np.log2(n))


LAWS = [
    (lambda threads: 2.0, COUNTS, "T = a"),
    (amdahl, COUNTS, "T = a + b/threads"),
    (lambda threads: 4 / threads, COUNTS, "T = a/threads"),
    (lambda threads: 1 + 0.1 * (threads - 1), COUNTS, "T = a + b (threads - 1)"),
    (
        usl,
        threads(1, 2, 4, 8, 16, 24),
        "T = a/threads + b (threads - 1)/threads + c (threads - 1)",
    ),
    (squared, SIZES, "T = a n^2 + b n^2/threads"),
    (start, SIZES, "T = a + b n^3/threads"),
    (sorting, grid([4], [1e4, 1e5, 1e6, 1e7]), "T = a n log2(n)"),
    (lambda threads, n: 3 / n, grid([1], [1, 2, 4, 8]), "T = a n^-1"),
]


@pytest.mark.parametrize(("law", "inputs", "formula"), LAWS, ids=[x[2] for x in LAWS])
def test_law_without_noise_is_found(
    law: Law, inputs: list[Mapping[str, float]], formula: str
) -> None:
    found = model(synthetic_rows(law, inputs))
    assert found.formula == formula
    greatest = {name: high for name, (_, high) in found.runs.ranges.items()}
    whole = sum(term.seconds.value for term in found.terms)
    assert whole == pytest.approx(law(**greatest))
    assert found.predict(greatest).seconds == pytest.approx(law(**greatest))
    assert found.held_out.mean < 0.15


def test_two_settings_have_powers_of_their_own() -> None:
    inputs = [
        {"threads": 1, "n": n, "steps": steps}
        for n in (8, 16, 32, 64)
        for steps in (10, 20, 40)
    ]
    rows = synthetic_rows(lambda threads, n, steps: 1e-5 * n**2 * steps, inputs)
    assert model(rows).formula == "T = a n^2 steps"


def test_parameters_of_amdahl_are_those_of_scaling() -> None:
    rows = synthetic_rows(amdahl, COUNTS, noise=0.02)
    found = model(rows)
    serial, parallel = found.terms
    # The parallel term is that of eight threads.
    ratio = serial.seconds.value / (serial.seconds.value + 8 * parallel.seconds.value)
    numbers = [int(one["threads"]) for one in rows]
    law = fit(AMDAHL, numbers, [one["seconds"] for one in rows])
    assert law.parameters["serial"].value == pytest.approx(ratio)


def test_intervals_cover_the_true_value_in_95_percent() -> None:
    chance = np.random.default_rng(7)
    in_terms, in_predictions, chosen = 0, 0, 0
    for seed in range(RELIABLE):
        rows = synthetic_rows(amdahl, COUNTS, noise=0.02, seed=seed)
        runs = as_arrays(tagged_runs("solver", "n1", rows))
        fitted = fit_formula(runs, choose(runs, PLAIN, [{}]))
        _, (low,), (high,) = fitted.predict(of_one({"threads": 5}))
        in_predictions += low <= amdahl(5) * chance.normal(1, 0.02) <= high
        if fitted.formula.form.name == "Amdahl":
            half = fitted.fit.quantile * np.sqrt(fitted.fit.covariance[0, 0])
            in_terms += abs(fitted.fit.coefficients[0] - 0.3) <= half
            chosen += 1
    # 95 %; the bounds are four standard deviations away.
    assert chosen > 0.8 * RELIABLE
    assert 362 <= in_predictions <= 398
    assert in_terms >= 0.9 * chosen


def test_prediction_interval_is_for_a_single_run() -> None:
    few = model(synthetic_rows(amdahl, COUNTS, noise=0.03, repeat=2))
    many = model(synthetic_rows(amdahl, COUNTS, noise=0.03, repeat=40))
    found = many.predict({"threads": 4})
    # Two standard deviations to each side, however many runs there are.
    assert (found.high - found.low) / found.seconds == pytest.approx(4 * 0.03, rel=0.2)
    assert found.high - found.low > 0.5 * (
        few.predict({"threads": 4}).high - few.predict({"threads": 4}).low
    )
    serial = many.terms[0].seconds
    assert serial.low is not None
    assert serial.high is not None
    assert (serial.high - serial.low) < 0.06 * serial.value * 4


def test_held_out_error_comes_from_models_fitted_without_the_runs() -> None:
    rows = synthetic_rows(amdahl, COUNTS, noise=0.05)
    errors = []
    for number in (1, 2, 3, 4, 6, 8):
        others = model([one for one in rows if one["threads"] != number])
        seconds = others.predict({"threads": number}).seconds
        left_out = [one["seconds"] for one in rows if one["threads"] == number]
        errors.append(np.mean([abs(seconds - one) / one for one in left_out]))
    found = model(rows).held_out
    assert found.mean == pytest.approx(np.mean(errors))
    assert found.greatest == pytest.approx(max(errors))
    assert 0 <= found.covered <= 1


def test_many_groups_are_left_out_in_twelve_parts() -> None:
    rows = synthetic_rows(squared, SIZES)
    runs = as_arrays(tagged_runs("solver", "n1", rows))
    found = [*parts(runs)]
    assert len(found) == 12
    assert (np.sum(found, axis=0) == 1).all()
    for is_out in found:
        assert not {*runs.group[is_out]} & {*runs.group[~is_out]}


def test_wrong_law_has_a_large_held_out_error() -> None:
    """No form has a step, so the runs next to it are predicted badly."""
    rows = synthetic_rows(lambda threads: 1.0 if threads < 4 else 5.0, COUNTS)
    assert model(rows).held_out.greatest > 0.3


def test_prediction_outside_measured_range_is_reported() -> None:
    found = model(synthetic_rows(squared, SIZES, noise=0.01))
    assert found.predict({"threads": 2, "n": 700}).beyond == ()
    beyond = found.predict({"threads": 16, "n": 4096}).beyond
    assert beyond == ("threads 16 (measured: 1 to 8)", "n 4096 (measured: 256 to 2048)")


def test_input_that_never_varied_may_be_omitted() -> None:
    found = model(synthetic_rows(sorting, grid([4], [1e4, 1e5, 1e6, 1e7])))
    assert found.predict({"n": 1e5}).inputs == {"threads": 4, "n": 1e5}
    assert found.predict({"n": 1e5, "threads": 2}).beyond == (
        "threads 2 (measured: 4)",
    )


@pytest.mark.parametrize(
    ("inputs", "word"),
    [
        ({"threads": 2}, "--set n=VALUE"),
        ({"n": 512}, "--threads N"),
        ({"threads": 2, "n": 512, "m": 3}, "'m' is not a setting of most runs"),
        ({"threads": 2, "n": -1}, "above 0"),
    ],
)
def test_wrong_inputs_are_named(inputs: Mapping[str, float], word: str) -> None:
    found = model(synthetic_rows(squared, SIZES))
    with pytest.raises(ModelInputError, match=word) as caught:
        found.predict(inputs)
    assert caught.value.code == "bad-model-input"


def test_too_many_settings_are_refused() -> None:
    inputs = [
        {"threads": 1, **{name: 1 + (number >> place & 1) for place, name in NAMES}}
        for number in range(32)
    ]
    with pytest.raises(ModelInputError, match="5 settings"):
        model(synthetic_rows(lambda **_: 1.0, inputs))


NAMES = [*enumerate("abcde")]


def test_machine_form_follows_measured_rates() -> None:
    """Memory bandwidth that saturates explains what the other forms cannot."""
    peaks = {count: 10.0 * count for count in (1, 2, 4, 8, 16)}
    memory = {1: 10.0, 2: 19.0, 4: 24.0, 8: 25.0, 16: 25.0}
    form = machine_form(peaks, memory)

    def bound(threads: float) -> float:
        rate = np.interp(threads, [*memory], [*memory.values()])
        return float(0.2 + 3 / threads + 20 / rate)

    rows = synthetic_rows(bound, threads(1, 2, 3, 4, 6, 8, 12, 16), noise=0.002)
    found = fit_model(tagged_runs("solver", "n1", rows), form)
    assert found.form == "machine"
    _, computing, moving = found.terms
    assert moving.seconds.value == pytest.approx(20 / 25, rel=0.1)
    assert computing.seconds.value == pytest.approx(3 / 16, rel=0.3)
    others = fit_model(tagged_runs("solver", "n1", rows))
    assert found.held_out.mean < others.held_out.mean


def test_every_form_has_a_name_of_its_own() -> None:
    assert len({form.name for form in FORMS}) == len(FORMS)
