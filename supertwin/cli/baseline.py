"""`supertwin baseline`: is this as fast as it was, for the CI of an application."""

import json
import sys
from dataclasses import asdict

import click

from observations.compare import TEST
from ontology.iris import Iris
from supertwin.baselines import (
    Checked,
    baseline_rows,
    check_baseline,
    remove_baseline,
    set_baseline,
)
from supertwin.cli.verdict import verdict_text
from supertwin.comparing import DURATION
from supertwin.loading import dataset
from supertwin.settings import Settings

_REGRESSION, _UNCERTAIN = 3, 2


@click.group("baseline")
def baseline_group() -> None:
    """Judge runs by earlier ones."""


@baseline_group.command("set")
@click.argument("name")
@click.argument("id_", metavar="ID")
def set_command(name: str, id_: str) -> None:
    """Make a run, or a group of repetitions, the baseline NAME."""
    settings = Settings()
    with dataset(settings, "twin") as twin:
        group = set_baseline(twin, Iris(settings.base), name, id_)
    number = len(group.runs)
    runs = "1 run" if number == 1 else f"{number} runs"
    click.echo(f"{name}: {runs} of {group.runs[0]['command']}")


@baseline_group.command("list")
def list_command() -> None:
    """The baselines, and what they are made of."""
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


@baseline_group.command("check")
@click.argument("name")
@click.argument("id_", metavar="ID")
@click.option("--metric", default=DURATION, help="What is judged, as in PCP.")
@click.option(
    "--more-is-better", is_flag=True, help="More is better, as of operations a second."
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 100),
    default=0.0,
    help="Change in percent that counts as none.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def check_command(
    name: str,
    id_: str,
    metric: str,
    more_is_better: bool,
    tolerance: float,
    as_json: bool,
) -> None:
    """Exit 3 where runs are certainly worse than a baseline, 2 where nobody knows.

    What else differs from the baseline is told on standard error.
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
    if not found.is_certain:
        click.echo(f"supertwin: {_too_few(found)}: repeat it (`--repeat 10`)", err=True)
        sys.exit(_UNCERTAIN)
    sys.exit(_REGRESSION if found.has_regressed else 0)


def _too_few(found: Checked) -> str:
    if found.was.number > 1:
        return "one run proves nothing"
    return "a baseline of one run proves nothing"


def _line(found: Checked) -> str:
    was, now = found.was, found.now
    return (
        f"{found.measure}: {was.mean:.6g} in {was.number} runs, now {now.mean:.6g} in "
        f"{now.number}: {verdict_text(found.verdict)}"
    )
