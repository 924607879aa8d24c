"""`supertwin predict`: the time of a run, by a model of earlier runs."""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import click

from core.settings.settings import Settings
from core.stores.datasets import dataset
from observations.comparison.compare import VerdictWord
from observations.comparison.comparing import find_group
from observations.models.model import (
    Prediction,
    RunsCheck,
    RuntimeModel,
    check_runs,
    read_model,
)
from observations.models.runs import THREADS
from observations.models.store import keep_model
from observations.models.validation import HeldOut
from ontology.figures import figures
from ontology.iris import Iris
from supertwin.cli.host import HOST
from supertwin.cli.parameters import TEXT
from supertwin.cli.tables import TEXT_OR_JSON_OPTION
from supertwin.cli.wording import counted

_WORSE = 3


@click.command("predict")
@click.argument("tag", type=TEXT)
@click.option("--threads", type=click.IntRange(min=1), help="Number of threads.")
@click.option(
    "--set",
    "pairs",
    multiple=True,
    type=TEXT,
    metavar="NAME=NUMBER",
    help="Value of a setting.",
)
@click.option(
    "--check",
    type=TEXT,
    metavar="ID",
    help="Compare this run, or group of runs, with a model of the others.",
)
@click.option(
    "--boosting",
    is_flag=True,
    help="Try gradient boosting, too (needs scikit-learn).",
)
@click.option("--host", type=HOST, help="Host of the runs.  [default: this host]")
@TEXT_OR_JSON_OPTION
def predict_command(
    tag: str,
    threads: int | None,
    pairs: tuple[str, ...],
    check: str | None,
    boosting: bool,
    host: str | None,
    output: str,
) -> None:
    """Predict how long a run takes, from the runs with a tag.

    The settings of a run are its tags, and variables of --env, of the form NAME=NUMBER.
    The model is the simplest formula whose error on left-out runs is close to the
    smallest, and it is stored in the graph. With --check, nothing is stored, and the
    exit status is 3 if the runs are slower than expected.
    """
    settings = Settings()
    if check:
        if threads is not None or pairs:
            raise click.UsageError("--check takes threads and settings from the runs")
        _check(settings, tag, host or settings.host, check, boosting, output)
        return
    inputs = _inputs(threads, pairs)
    with dataset(settings, "twin") as twin:
        name = host or settings.host
        model = read_model(twin, tag, name, inputs, boosting=boosting)
        found = model.predict(inputs)
        iri = keep_model(twin, Iris(settings.base), model)
    document = {**_document(model), "model": iri, "prediction": asdict(found)}
    _print(output, document, [*_text(model), _prediction(found)])
    _warn(found)


def _check(
    settings: Settings, tag: str, host: str, id_: str, boosting: bool, output: str
) -> None:
    with dataset(settings, "twin") as twin:
        group = find_group(twin, Iris(settings.base), id_)
        runs = {str(run["run"]) for run in group.runs}
        model, checks = check_runs(twin, tag, host, runs, boosting=boosting)
    listed = [{**asdict(one), "verdict": one.verdict} for one in checks]
    document = {**_document(model), "checks": listed}
    _print(output, document, [*_text(model), *map(_checked, checks)])
    for one in checks:
        _warn(one.expected)
    if any(one.verdict is VerdictWord.WORSE for one in checks):
        sys.exit(_WORSE)


def _print(output: str, document: dict[str, Any], lines: list[str]) -> None:
    click.echo(json.dumps(document) if output == "json" else "\n".join(lines))


def _warn(found: Prediction) -> None:
    for beyond in found.beyond:
        click.echo(
            f"supertwin: {beyond} was not measured: the interval is too narrow if the "
            "program behaves differently there",
            err=True,
        )


def _inputs(threads: int | None, pairs: tuple[str, ...]) -> Mapping[str, float]:
    found = {} if threads is None else {THREADS: float(threads)}
    for pair in pairs:
        name, value = _setting(pair)
        if name in found:
            raise click.BadParameter(f"--set {pair!r}: {name} is set already")
        found[name] = value
    return found


def _setting(pair: str) -> tuple[str, float]:
    name, _, text = pair.partition("=")
    with suppress(ValueError):
        if name and 0 < (value := float(text)) < math.inf:
            return name, value
    raise click.BadParameter(f"--set {pair!r}: expected NAME=NUMBER, above 0")


def _document(model: RuntimeModel) -> dict[str, Any]:
    runs = model.runs
    return {
        "tag": runs.tag,
        "host": runs.host,
        "form": model.form,
        "formula": model.formula,
        "terms": [
            {"term": term.text, **_interval(term.seconds)} for term in model.terms
        ],
        "inputs": {name: [*limits] for name, limits in runs.ranges.items()},
        "runs": [asdict(run) for run in runs.runs],
        "left_out": dict(runs.left_out),
        "held_out": asdict(model.held_out),
        "deviation": model.deviation,
        "boosting": asdict(model.boosting.held_out) if model.boosting else None,
    }


def _interval(found: Any) -> dict[str, float]:
    return {"seconds": found.value, "low": found.low, "high": found.high}


def _text(model: RuntimeModel) -> Iterator[str]:
    runs = model.runs
    number, groups = counted(len(runs.runs), "run"), len(runs.combinations)
    inputs = ", ".join(runs.inputs)
    yield f"{runs.tag} on {runs.host}: {number}, {groups} combinations of {inputs}"
    if runs.left_out:
        reasons = (f"{count} {why}" for why, count in runs.left_out.items())
        yield f"left out: {', '.join(reasons)}"
    yield f"{model.form}: {model.formula}"
    yield from _terms(model)
    yield _error(model.held_out)
    if model.boosting:
        worse = "" if model.is_boosting_better else " (not used)"
        yield f"gradient boosting{worse}: {_error(model.boosting.held_out)}"


def _error(found: HeldOut) -> str:
    return (
        f"error on left-out values: {found.mean:.1%} on average, {found.greatest:.1%} "
        f"for the worst combination; the interval contained {found.covered:.0%} of "
        "these runs"
    )


def _prediction(found: Prediction) -> str:
    seconds, low, high = map(figures, (found.seconds, found.low, found.high))
    by = ", by gradient boosting" if found.is_by_trees else ""
    return f"{_given(found)}{by}: {seconds} s (95 % of runs: {low} to {high} s)"


def _checked(found: RunsCheck) -> str:
    expected = found.expected
    low, high = figures(expected.low), figures(expected.high)
    return (
        f"{_given(expected)}: {figures(found.seconds)} s in "
        f"{counted(found.number, 'run')}, expected {low} to {high} s: {found.verdict}"
    )


def _given(found: Prediction) -> str:
    return ", ".join(f"{name} {figures(v)}" for name, v in found.inputs.items())


def _terms(model: RuntimeModel) -> Iterator[str]:
    ranges = model.runs.ranges.items()
    greatest = ", ".join(f"{name} {figures(high)}" for name, (_, high) in ranges)
    yield f"time of each term at {greatest}:"
    whole = sum(term.seconds.value for term in model.terms)
    for term in model.terms:
        value, low, high = (
            figures(one or 0.0)
            for one in (term.seconds.value, term.seconds.low, term.seconds.high)
        )
        share = term.seconds.value / whole
        yield f"  {term.text:30} {value:>10} s ({low} to {high} s), {share:.0%}"
