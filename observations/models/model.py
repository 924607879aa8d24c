"""The model of a program's runtime: fitted, validated, and used to predict."""

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

import numpy as np

from core.stores.endpoint import Endpoint
from observations.comparison.compare import VerdictWord
from observations.errors import ModelInputError
from observations.models.boosting import Boosting, boost
from observations.models.forms import FORMS, Form, all_powers
from observations.models.rates import read_machine_form
from observations.models.runs import (
    THREADS,
    Inputs,
    TaggedRuns,
    TimedRun,
    read_runs,
)
from observations.models.validation import (
    Fitted,
    HeldOut,
    as_arrays,
    choose,
    fit,
    of_one,
    validate,
)
from observations.pop.fits import Interval
from ontology.figures import figures


@dataclass(frozen=True)
class ModelTerm:
    """A term and its seconds at the greatest inputs."""

    text: str
    seconds: Interval


@dataclass(frozen=True)
class Prediction:
    """The time for some inputs, in seconds, with its 95 % prediction interval.

    ``beyond`` says which inputs are outside of what was measured, ``is_by_trees``
    whether gradient boosting made the prediction instead of the formula.
    """

    inputs: Inputs
    seconds: float
    low: float
    high: float
    beyond: tuple[str, ...] = ()
    is_by_trees: bool = False


@dataclass(frozen=True)
class RunsCheck:
    """Runs with the same inputs, compared with what a model of others expects.

    ``seconds`` is their mean, and the interval of ``expected`` is for such a mean.
    """

    number: int
    seconds: float
    expected: Prediction

    @property
    def verdict(self) -> VerdictWord:
        """Whether they are faster or slower than the interval."""
        if self.seconds > self.expected.high:
            return VerdictWord.WORSE
        is_faster = self.seconds < self.expected.low
        return VerdictWord.BETTER if is_faster else VerdictWord.EQUIVALENT


@dataclass(frozen=True)
class RuntimeModel:
    """A model with the runs that it was fitted to, and its error on runs left out.

    ``boosting`` was fitted to the same runs, if that was wanted.
    """

    runs: TaggedRuns
    fitted: Fitted
    held_out: HeldOut
    boosting: Boosting | None = None

    @property
    def terms(self) -> tuple[ModelTerm, ...]:
        """The terms of the formula."""
        return tuple(_terms(self.fitted))

    @property
    def form(self) -> str:
        """The name of its form."""
        return self.fitted.formula.form.name

    @property
    def formula(self) -> str:
        """The formula as text."""
        return str(self.fitted.formula)

    @property
    def deviation(self) -> float:
        """The relative standard deviation of the runs."""
        return float(np.sqrt(self.fitted.fit.variance))

    @property
    def is_boosting_better(self) -> bool:
        """Whether trees had the smaller error on runs left out."""
        if self.boosting is None:
            return False
        return self.boosting.held_out.mean < self.held_out.mean

    def _has_values(self, inputs: Inputs) -> bool:
        """Whether each value was measured: trees are constant between two values."""
        return all(
            value in {run.inputs[name] for run in self.runs.runs}
            for name, value in inputs.items()
        )

    def predict(self, inputs: Inputs, repeat: int = 1) -> Prediction:
        """Predict the time of a run, or the mean time of ``repeat`` runs.

        Raises ModelInputError.
        """
        _check(self.runs, inputs)
        ranges = self.runs.ranges
        known = {name: inputs.get(name, ranges[name][0]) for name in self.runs.inputs}
        is_by_trees = self.is_boosting_better and self._has_values(known)
        model = self.boosting if self.boosting and is_by_trees else self.fitted
        found = model.predict(of_one(known), repeat)
        seconds, low, high = (float(one[0]) for one in found)
        beyond = tuple(_beyond(self.runs, known))
        return Prediction(known, seconds, low, high, beyond, is_by_trees)


def read_model(
    twin: Endpoint, tag: str, host: str, inputs: Inputs, *, boosting: bool = False
) -> RuntimeModel:
    """Fit a model that can predict for some inputs to the runs in the graph.

    Raises NoModelRunsError, TooFewRunsError, ModelInputError and NotInstalledError.
    """
    found, _ = read_runs(twin, tag, host)
    _check(found, inputs)
    threads = [*found.ranges.get(THREADS, ()), inputs.get(THREADS, 1.0)]
    machine = read_machine_form(twin, host, threads)
    return fit_model(found, machine, boosting=boosting)


def check_runs(
    twin: Endpoint, tag: str, host: str, runs: Set[str], *, boosting: bool = False
) -> tuple[RuntimeModel, list[RunsCheck]]:
    """Fit a model to the other runs with a tag, and compare these runs with it.

    ``runs``: their IRIs. Those with the same inputs are compared together. Raises
    NoModelRunsError, TooFewRunsError, ModelInputError and NotInstalledError.
    """
    others, checked = read_runs(twin, tag, host, runs)
    threads = [run.inputs.get(THREADS, 1.0) for run in (*others.runs, *checked)]
    machine = read_machine_form(twin, host, threads)
    model = fit_model(others, machine, boosting=boosting)
    return model, [*_checks(model, checked)]


def _checks(model: RuntimeModel, runs: Sequence[TimedRun]) -> Iterator[RunsCheck]:
    by_inputs: dict[tuple[tuple[str, float], ...], list[float]] = defaultdict(list)
    for run in runs:
        known = {name: v for name, v in run.inputs.items() if name in model.runs.inputs}
        for name in _varying(model.runs):
            if name not in known:
                raise ModelInputError(
                    f"{run.iri} lacks {name}, which the model of {model.runs.tag!r} "
                    f"needs: observe it with `--tag {name}=NUMBER`"
                )
        by_inputs[tuple(sorted(known.items()))].append(run.seconds)
    for inputs, seconds in sorted(by_inputs.items()):
        expected = model.predict(dict(inputs), len(seconds))
        yield RunsCheck(len(seconds), float(np.mean(seconds)), expected)


def fit_model(
    found: TaggedRuns, machine: Form | None = None, *, boosting: bool = False
) -> RuntimeModel:
    """Choose, fit and validate a model; raises ModelInputError and NotInstalledError.

    ``boosting``: fit gradient boosting, too.
    """
    runs, settings = as_arrays(found), [n for n in _varying(found) if n != THREADS]
    # Without settings, a start is the same as a term of constant work.
    forms = [form for form in FORMS if settings or not form.has_start]
    forms += [machine] if machine else []
    powers = all_powers(settings)
    formula = choose(runs, forms, powers)
    held_out = validate(runs, forms, powers)
    trees = boost(found) if boosting else None
    return RuntimeModel(found, fit(runs, formula), held_out, trees)


def _terms(fitted: Fitted) -> Iterator[ModelTerm]:
    found = fitted.fit
    halves = found.quantile * np.sqrt(np.diag(found.covariance))
    for text, seconds, half in zip(
        fitted.formula.terms,
        found.coefficients.tolist(),
        halves.tolist(),
        strict=True,
    ):
        yield ModelTerm(text, Interval(seconds, seconds - half, seconds + half))


def _varying(found: TaggedRuns) -> list[str]:
    return [name for name, (low, high) in found.ranges.items() if low < high]


def _check(found: TaggedRuns, inputs: Inputs) -> None:
    """Raise ModelInputError for inputs that are unknown, missing or not positive."""
    known = ", ".join(found.inputs)
    for name, value in inputs.items():
        if name not in found.inputs:
            raise ModelInputError(
                f"{name!r} is not a setting of most runs of {found.tag!r}, which have "
                f"{known}: leave it out, or observe runs with `--tag {name}=NUMBER`"
            )
        if not value > 0:
            raise ModelInputError(f"{name} is {value:g}: give a number above 0")
    for name in _varying(found):
        if name not in inputs:
            low, high = map(figures, found.ranges[name])
            option = "--threads N" if name == THREADS else f"--set {name}=VALUE"
            raise ModelInputError(
                f"the runs of {found.tag!r} have {name} from {low} to {high}: add "
                f"`{option}`"
            )


def _beyond(found: TaggedRuns, inputs: Inputs) -> Iterator[str]:
    for name, (low, high) in found.ranges.items():
        if not low <= inputs[name] <= high:
            measured = " to ".join(dict.fromkeys(map(figures, (low, high))))
            yield f"{name} {figures(inputs[name])} (measured: {measured})"
