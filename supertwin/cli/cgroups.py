"""`supertwin cgroups`: list the control groups that have twins."""

import click

from core.settings.settings import Settings
from core.stores.datasets import dataset
from queries.catalogue import saved_query
from sampling.cgroup_list import read_groups
from supertwin.cli.host import HOST_OPTION
from supertwin.cli.tables import FORMAT_OPTION, TABLES


@click.group("cgroups")
def cgroups_group() -> None:
    """List the control groups that have twins, such as jobs of a scheduler.

    `SUPERTWIN_CGROUP_ROOTS` selects them. `supertwin query cgroups/of-job` lists the
    groups of one job.
    """


@cgroups_group.command("list")
@click.option("--ended", is_flag=True, help="List ended groups, newest first.")
@HOST_OPTION
@FORMAT_OPTION
def list_command(ended: bool, host: str | None, output: str) -> None:
    """List running control groups, and which of this host are not watched."""
    settings = Settings()
    target = host or settings.host
    query = saved_query("cgroups/ended" if ended else "cgroups/running")
    with dataset(settings, "twin") as twin:
        rows = twin.select(query.bind({"host": target}))
    click.echo(TABLES[output](rows), nl=False)
    for problem in read_groups(settings).problems if target == settings.host else ():
        click.echo(problem, err=True)
