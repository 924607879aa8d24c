"""`supertwin baseline`: detect performance regressions in an application's CI."""

import json
import sys
from dataclasses import asdict

import click

from core.settings import audit
from core.settings.settings import Settings
from core.stores.datasets import dataset
from observations.comparison.baselines import (
    BaselineCheck,
    baseline_rows,
    check_baseline,
    remove_baseline,
    set_baseline,
)
from observations.comparison.compare import TEST
from observations.comparison.comparing import DURATION
from ontology.figures import figures
from ontology.iris import Iris
from supertwin.cli.verdict import tolerance_option, verdict_text
from supertwin.cli.wording import counted

_WORSE, _UNDECIDED = 3, 4


@click.group("baseline")
def baseline_group() -> None:
    """Compare runs with earlier ones."""


@baseline_group.command("set")
@click.argument("name")
@click.argument("id_", metavar="ID")
def set_command(name: str, id_: str) -> None:
    """Make a run, or a group of repetitions, the baseline NAME."""
    settings = Settings()
    with dataset(settings, "twin") as twin:
        group = set_baseline(twin, Iris(settings.base), name, id_)
    _note(settings, "baseline.set", name)
    runs = counted(len(group.runs), "run")
    click.echo(f"{name}: {runs} of {group.runs[0]['command']}")


@baseline_group.command("list")
def list_command() -> None:
    """List the baselines and their runs."""
    with dataset(Settings(), "twin") as twin:
        rows = baseline_rows(twin)
    for row in rows:
        click.echo(f"{row['name']}  {row['host']}  {row['command']}  {row['run']}")


@baseline_group.command("remove")
@click.argument("name")
def remove_command(name: str) -> None:
    """Forget a baseline; its runs stay."""
    settings = Settings()
    with dataset(settings, "twin") as twin:
        remove_baseline(twin, Iris(settings.base), name)
    _note(settings, "baseline.removed", name)


def _note(settings: Settings, what: str, name: str) -> None:
    audit.record(settings.home, audit.local_user(), what, name)


@baseline_group.command("check")
@click.argument("name")
@click.argument("id_", metavar="ID")
@click.option("--metric", default=DURATION, help="Metric to compare, as in PCP.")
@click.option(
    "--more-is-better",
    is_flag=True,
    help="More is better, as for operations per second.",
)
@tolerance_option
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def check_command(
    name: str,
    id_: str,
    metric: str,
    more_is_better: bool,
    tolerance: float,
    as_json: bool,
) -> None:
    """Compare runs with a baseline: exit 0, 3 if they are worse, 4 if undecided.

    Exit 0 means better, or equivalent within the tolerance. What else differs from the
    baseline is printed on standard error.
    """
    settings = Settings()
    with dataset(settings, "twin") as twin:
        found = check_baseline(
            twin,
            Iris(settings.base),
            name,
            id_,
            metric,
            not more_is_better,
            tolerance / 100,
        )
    text = json.dumps({**asdict(found), "test": TEST}) if as_json else _line(found)
    click.echo(text)
    for doubt in found.doubts:
        click.echo(f"supertwin: {doubt}", err=True)
    if not found.is_decided:
        click.echo(f"supertwin: undecided: {_needed(found)}", err=True)
        sys.exit(_UNDECIDED)
    sys.exit(_WORSE if found.has_regressed else 0)


def _needed(found: BaselineCheck) -> str:
    """What would decide the verdict, and how to get it."""
    if found.verdict.runs:
        return f"{found.verdict.needed} (`observe --repeat {found.verdict.runs}`)"
    if found.was.number < 2:
        return "the baseline is one run: set it to a group (`observe --repeat 10`)"
    return f"{found.verdict.needed} (`observe --repeat 10`)"


def _line(found: BaselineCheck) -> str:
    was, now = found.was, found.now
    return (
        f"{found.measure}: {figures(was.mean, 6)} in {counted(was.number, 'run')}, "
        f"now {figures(now.mean, 6)} in {now.number}: {verdict_text(found.verdict)}"
    )
