"""`supertwin compare`: runs side by side, with a verdict."""

import json
from collections.abc import Iterator, Sequence
from os.path import commonprefix

import click

from observations.compare import TEST, Estimate
from ontology.iris import Iris
from supertwin.cli.verdict import verdict_text
from supertwin.compared import document, plain
from supertwin.comparing import Comparison, Group, Measure, compare, find_group
from supertwin.loading import dataset
from supertwin.overlaying import as_csv, as_documents, overlay
from supertwin.settings import Settings

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
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def compare_command(
    ids: tuple[str, ...], metrics: tuple[str, ...], as_json: bool
) -> None:
    """Set runs, or groups of repetitions, beside the first one.

    Faster is better. Of one repetition nothing can be said but the difference, and of
    what did not end by itself nothing at all.
    """
    if len(ids) < 2:
        raise click.UsageError("one run cannot be compared: give two or more")
    settings = Settings()
    iris = Iris(settings.base)
    with dataset(settings, "twin") as twin:
        groups = [find_group(twin, iris, id_) for id_ in ids]
        series = overlay(settings, twin, groups, metrics) if metrics else []
    if as_json:
        told = document(compare(groups)) | {"series": as_documents(series)}
        click.echo(json.dumps(told, indent=None if series else 1, default=plain))
    elif metrics:
        click.echo(as_csv(series), nl=False)
    else:
        for line in lines(compare(groups)):
            click.echo(line)


def lines(found: Comparison) -> Iterator[str]:
    """A comparison as text."""
    for place, group in enumerate(found.groups, 1):
        one = group.runs[0]
        pinned = f", {one['policy']}" if one["policy"] else ""
        runs = _runs(group)
        yield f"{place}: {one['command']} on {one['host']}{pinned}, {runs}"
    yield ""
    for measure in found.measures:
        yield from _measure(measure)
    yield f"verdicts: {TEST}"
    if found.differences:
        yield ""
        yield "what else differs:"
    for name, values in found.differences.items():
        yield f"  {name.rpartition('#')[2]}"
        yield from (f"    {place}: {v}" for place, v in enumerate(_apart(values), 1))


def _runs(group: Group) -> str:
    """How many, and how many of them are left out."""
    number, others = len(group.runs), len(group.runs) - len(group.ended)
    told = "1 run" if number == 1 else f"{number} runs"
    return f"{told}, {others} broken off and left out" if others else told


def _measure(measure: Measure) -> Iterator[str]:
    unit = f" {measure.unit.rpartition('/')[2]}" if measure.unit else ""
    instance = f"[{measure.instance}]" if measure.instance is not None else ""
    what = "" if measure.what == measure.metric else f", {measure.what}"
    yield f"{measure.metric}{instance}{what}"
    verdicts = [None, *measure.verdicts]
    for place, (value, verdict) in enumerate(
        zip(measure.estimates, verdicts, strict=True), 1
    ):
        judged = f"  {verdict_text(verdict)}" if verdict else ""
        yield f"  {place}: {_estimate(value, unit)}{judged}"


def _estimate(value: Estimate | None, unit: str) -> str:
    if value is None:
        return "not measured"
    within = "" if value.high is None else f" ± {value.high - value.mean:.4g}"
    return f"{value.mean:.6g}{within}{unit}"


def _apart(found: Sequence[Sequence[str]]) -> list[str]:
    """What tells them apart: values that all have are left out, and so is a long text
    up to where the texts begin to differ.
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
    """What is shown of a text from a place on; what is cut off is marked."""
    shown = text[start : start + _MOST_SHOWN]
    before, after = "…" * (start > 0), "…" * (start + _MOST_SHOWN < len(text))
    return f"{before}{shown}{after}"
