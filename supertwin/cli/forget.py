"""`supertwin forget`: delete the record of a run."""

import click

from core.settings import audit
from core.settings.settings import Settings
from core.stores.datasets import dataset
from observations.removal import forget_runs
from supertwin.cli.confirm import YES_OPTION, confirm_removal


@click.command("forget")
@click.argument("ids", metavar="ID…", nargs=-1, required=True)
@YES_OPTION
def forget_command(ids: tuple[str, ...], yes: bool) -> None:
    """Remove runs, or groups of repetitions, with all their files.

    Their samples stay in the time series until the retention ends.
    """
    confirm_removal(f"the record of {', '.join(ids)}", yes)
    settings = Settings()
    with dataset(settings, "twin") as twin:
        for name in forget_runs(settings, twin, ids):
            audit.record(settings.home, audit.local_user(), "run.forgotten", name)
            click.echo(f"{name} is forgotten")
