"""`supertwin compare`: compare runs, with a verdict."""

import json
from collections.abc import Iterator, Sequence
from os.path import commonprefix

import click

from core.settings.settings import Settings
from core.stores.datasets import dataset
from dashboards.errors import UnitError
from dashboards.spec import Unit
from dashboards.units import drawn_unit, local_name, quantity
from observations.comparison.compare import TEST, MeanEstimate
from observations.comparison.compared import document, plain
from observations.comparison.comparing import (
    Measure,
    RunComparison,
    RunGroup,
    compare,
    find_group,
)
from observations.comparison.overlay import as_csv, as_documents, overlay
from ontology.figures import figures
from ontology.iris import Iris
from supertwin.cli.verdict import tolerance_option, verdict_text
from supertwin.cli.wording import counted

# A duration is not a metric, so the catalogue does not give its unit.
_SHORT = {"s": "SEC"}
_MOST_SHOWN, _SHOWN_BEFORE = 60, 20


@click.command("compare")
@click.argument("ids", nargs=-1, required=True, metavar="ID ID…")
@click.option(
    "--series",
    "metrics",
    multiple=True,
    metavar="METRIC",
    help="Print its samples by seconds since the start of each run, as CSV.",
)
@tolerance_option
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def compare_command(
    ids: tuple[str, ...], metrics: tuple[str, ...], tolerance: float, as_json: bool
) -> None:
    """Compare runs, or groups of repetitions, with the first one.

    Verdicts are better, worse, more, less, equivalent (within the tolerance) and
    undecided, with the number of runs that would decide it. Faster is better. Runs that
    did not end by themselves are left out.
    """
    if len(ids) < 2:
        raise click.UsageError("one run cannot be compared: give two or more")
    settings = Settings()
    iris = Iris(settings.base)
    with dataset(settings, "twin") as twin:
        groups = [find_group(twin, iris, id_) for id_ in ids]
        series = overlay(settings, twin, groups, metrics) if metrics else []
    if as_json:
        result = document(compare(groups, tolerance / 100))
        result |= {"series": as_documents(series)}
        click.echo(json.dumps(result, indent=None if series else 1, default=plain))
    elif metrics:
        click.echo(as_csv(series), nl=False)
    else:
        for line in lines(compare(groups, tolerance / 100)):
            click.echo(line)


def lines(found: RunComparison) -> Iterator[str]:
    """Format a comparison as text."""
    for place, group in enumerate(found.groups, 1):
        one = group.runs[0]
        pinned = f", {one['policy']}" if one["policy"] else ""
        runs = _runs(group)
        yield f"{place}: {one['command']} on {one['host']}{pinned}, {runs}"
    yield ""
    for measure in found.measures:
        if not measure.is_context:
            yield from _measure(measure)
    yield f"verdicts: {TEST}"
    context = [measure for measure in found.measures if measure.is_context]
    if context:
        yield ""
        yield "state of the machine meanwhile, without verdict:"
    for measure in context:
        yield from _measure(measure)
    if found.differences:
        yield ""
        yield "what else differs:"
    for name, values in found.differences.items():
        yield f"  {name.rpartition('#')[2]}"
        yield from (f"    {place}: {v}" for place, v in enumerate(_apart(values), 1))


def _runs(group: RunGroup) -> str:
    """The number of runs, and how many of them are left out."""
    number, others = len(group.runs), len(group.runs) - len(group.ended)
    text = counted(number, "run")
    return f"{text}, {others} interrupted and left out" if others else text


def _measure(measure: Measure) -> Iterator[str]:
    unit, scale = _drawn(measure.unit)
    instance = f"[{measure.instance}]" if measure.instance is not None else ""
    what = "" if measure.what == measure.metric else f", {measure.what}"
    yield f"{measure.metric}{instance}{what}"
    verdicts = [None, *measure.verdicts]
    for place, (value, verdict) in enumerate(
        zip(measure.estimates, verdicts, strict=True), 1
    ):
        judged = f"  {verdict_text(verdict)}" if verdict else ""
        doubt = _uncertainty(measure, place - 1)
        yield f"  {place}: {_estimate(value, unit, scale)}{doubt}{judged}"


def _uncertainty(measure: Measure, place: int) -> str:
    """Say that values are extrapolated or combine passes, and how far."""
    share = measure.dutycycles[place] if measure.dutycycles else None
    spread = measure.spreads[place] if measure.spreads else None
    parts = [
        f"extrapolated from {share:.0%} of the time" if (share or 1) < 1 else "",
        f"of passes that differ by {figures(spread, 2)} %"
        if spread is not None
        else "",
    ]
    said = ", ".join(filter(None, parts))
    return f" ({said})" if said else ""


def _drawn(iri: str | None) -> tuple[Unit, float]:
    """The unit in which values are shown, and the factor to multiply them by.

    An unknown unit is shown by its name.
    """
    name = local_name(iri) if iri else None
    try:
        unit, scale = drawn_unit(_SHORT.get(name or "", name))
    except UnitError:
        shown = (name or "").rpartition("/")[2]
        return Unit(shown, shown, "none", "none"), 1.0
    return unit, float(scale)


def _estimate(value: MeanEstimate | None, unit: Unit, scale: float) -> str:
    if value is None:
        return "not measured"
    half = None if value.high is None else value.high - value.mean
    within = "" if half is None else f" ± {quantity(half * scale, unit)}"
    return f"{quantity(value.mean * scale, unit)}{within}"


def _apart(found: Sequence[Sequence[str]]) -> list[str]:
    """What distinguishes the texts of each run.

    Values that all have in common are left out, and so is the common beginning of long
    texts.
    """
    alike = set(found[0]).intersection(*found[1:])
    nothing = "nothing else" if alike else "nothing"
    texts = [
        ", ".join(value for value in values if value not in alike) or nothing
        for values in found
    ]
    is_long = max(map(len, texts)) > _MOST_SHOWN
    start = len(commonprefix(texts)) - _SHOWN_BEFORE if is_long else 0
    return [_window(text, max(start, 0)) for text in texts]


def _window(text: str, start: int) -> str:
    """The visible part of a text from a position on, with marks where it is cut."""
    shown = text[start : start + _MOST_SHOWN]
    before, after = "…" * (start > 0), "…" * (start + _MOST_SHOWN < len(text))
    return f"{before}{shown}{after}"
