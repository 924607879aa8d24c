"""`supertwin compare`: runs side by side, with a verdict."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click

from observations.compare import TEST, Estimate, Verdict
from ontology.iris import Iris
from supertwin.comparing import Comparison, Measure, compare, find_group
from supertwin.loading import dataset
from supertwin.settings import Settings

_MOST_SHOWN = 60


@click.command("compare")
@click.argument("ids", nargs=-1, required=True, metavar="ID ID…")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def compare_command(ids: tuple[str, ...], as_json: bool) -> None:
    """Set runs, or groups of repetitions, beside the first one.

    Faster is better. Of one repetition nothing can be said but the difference.
    """
    if len(ids) < 2:
        raise click.UsageError("one run cannot be compared: give two or more")
    settings = Settings()
    iris = Iris(settings.base)
    with dataset(settings, "twin") as twin:
        found = compare([find_group(twin, iris, id_) for id_ in ids])
    if as_json:
        click.echo(json.dumps(document(found), indent=1, default=_plain))
        return
    for line in lines(found):
        click.echo(line)


def document(found: Comparison) -> dict[str, Any]:
    """A comparison as JSON."""
    return {
        "groups": [
            {"name": group.name, "runs": [dict(run) for run in group.runs]}
            for group in found.groups
        ],
        "test": TEST,
        "measures": [asdict(measure) for measure in found.measures],
        "differences": dict(found.differences),
    }


def _plain(value: Any) -> Any:
    """Times and decimals as JSON has them."""
    return value.isoformat() if hasattr(value, "isoformat") else float(value)


def lines(found: Comparison) -> Iterator[str]:
    """A comparison as text."""
    for place, group in enumerate(found.groups, 1):
        runs = len(group.runs)
        one = group.runs[0]
        pinned = f", {one['policy']}" if one["policy"] else ""
        yield f"{place}: {one['command']} on {one['host']}{pinned}, {runs} runs"
    yield ""
    for measure in found.measures:
        yield from _measure(measure)
    yield f"verdicts: {TEST}"
    if found.differences:
        yield ""
        yield "what else differs:"
    for name, values in found.differences.items():
        yield f"  {name.rpartition('#')[2]}"
        yield from (f"    {place}: {_short(v)}" for place, v in enumerate(values, 1))


def _measure(measure: Measure) -> Iterator[str]:
    unit = f" {measure.unit.rpartition('/')[2]}" if measure.unit else ""
    instance = f"[{measure.instance}]" if measure.instance is not None else ""
    what = "" if measure.what == measure.metric else f", {measure.what}"
    yield f"{measure.metric}{instance}{what}"
    verdicts = [None, *measure.verdicts]
    for place, (value, verdict) in enumerate(
        zip(measure.estimates, verdicts, strict=True), 1
    ):
        yield f"  {place}: {_estimate(value, unit)}{_verdict(verdict)}"


def _estimate(value: Estimate | None, unit: str) -> str:
    if value is None:
        return "not measured"
    within = "" if value.high is None else f" ± {value.high - value.mean:.4g}"
    return f"{value.mean:.6g}{within}{unit}"


def _verdict(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    change = "" if verdict.change is None else f" ({100 * verdict.change:+.1f} %)"
    sure = "" if verdict.p is None else f", p = {verdict.p:.3g}"
    return f"  {verdict.word}{change}{sure}"


def _short(values: Sequence[str]) -> str:
    text = ", ".join(values) or "nothing"
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
