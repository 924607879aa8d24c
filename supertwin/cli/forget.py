"""`supertwin forget`: a run that is not to be kept."""

import click

from supertwin.forgetting import forget_runs
from supertwin.loading import dataset
from supertwin.settings import Settings


@click.command("forget")
@click.argument("ids", metavar="ID…", nargs=-1, required=True)
def forget_command(ids: tuple[str, ...]) -> None:
    """Remove recorded runs, or groups of repetitions, with all that was kept of them.

    Their samples stay in the time series as long as all others do.
    """
    settings = Settings()
    with dataset(settings, "twin") as twin:
        for name in forget_runs(settings, twin, ids):
            click.echo(f"{name} is forgotten")
