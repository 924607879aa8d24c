"""`supertwin forget`: delete the record of a run or benchmark."""

import click

from benchmarks.removal import forget
from core.settings import audit
from core.settings.settings import Settings
from core.stores.datasets import dataset
from supertwin.cli.confirm import YES_OPTION, confirm_removal


@click.command("forget")
@click.argument("ids", metavar="ID…", nargs=-1, required=True)
@YES_OPTION
def forget_command(ids: tuple[str, ...], yes: bool) -> None:
    """Remove runs, groups of repetitions or benchmarks, with all their files.

    The runs of a benchmark are removed with it.
    Samples stay in the time series until the retention ends.
    """
    confirm_removal(f"the record of {', '.join(ids)}", yes)
    settings = Settings()
    with dataset(settings, "twin") as twin:
        for name in forget(settings, twin, ids):
            audit.record(settings.home, audit.local_user(), "run.forgotten", name)
            click.echo(f"{name} is forgotten")
