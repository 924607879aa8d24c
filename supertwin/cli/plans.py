"""`supertwin sample add`, `remove` and `list`: what is sampled, and how often."""

from typing import Any

import click

from core.settings import audit
from core.settings.settings import Settings
from sampling.plans import changes
from supertwin.cli.estimate import consent
from supertwin.cli.host import HOST_OPTION
from supertwin.cli.plan_options import plan_options, plan_request
from supertwin.cli.tables import FORMAT_OPTION, TABLES
from supertwin.cli.wording import counted


@click.command("add")
@click.argument("metrics", metavar="[METRIC]…", nargs=-1)
@click.option(
    "--period", required=True, help="Time between two samples: 1ms to 1h, such as 10ms."
)
@plan_options
@click.option(
    "--plan",
    "name",
    default=None,
    metavar="NAME",
    help="Name of the plan; default: plan-1, …",
)
@click.option("--yes", is_flag=True, help="Do not ask, whatever the cost.")
@HOST_OPTION
def add_command(
    metrics: tuple[str, ...],
    period: str,
    name: str | None,
    yes: bool,
    host: str | None,
    **options: Any,
) -> None:
    """Sample metrics, named as in PCP, roles and PMU events under a new plan.

    Without --query or --instance all instances are sampled. If two plans name one
    series, it is sampled at the finer period. No other plan loses a tick. The expected
    cost is printed first; beyond a limit the command asks.
    """
    settings = Settings()
    if name == "":
        raise click.UsageError("--plan is empty: give a name, or leave it out")
    target = host or settings.host
    request = plan_request(target, name or "", metrics, period, **options)
    consent(settings, request, yes)
    added = changes.add(settings, request, _progress)
    user = audit.local_user()
    audit.record(settings.home, user, "plan.added", f"{target} {added.name}")
    some = max((len(metric.instances) for metric in added.metrics), default=0)
    of = f", {counted(some, 'instance')} of each" if some else ""
    click.echo(
        f"{added.name}: {counted(len(added.metrics), 'metric')} every {period}{of}"
    )
    if not added.noticed:
        _progress("no bridge runs here: sampling begins when one does")


@click.command("remove")
@click.argument("name", metavar="PLAN")
@HOST_OPTION
def remove_command(name: str, host: str | None) -> None:
    """Remove a plan; series that another plan samples continue at its period."""
    settings = Settings()
    target = host or settings.host
    changes.remove(settings, target, name, _progress)
    user = audit.local_user()
    audit.record(settings.home, user, "plan.removed", f"{target} {name}")
    click.echo(f"{name} is removed from {target}")


@click.command("list")
@HOST_OPTION
@FORMAT_OPTION
def list_command(host: str | None, output: str) -> None:
    """List the plans of a host with their periods (seconds) and metrics."""
    settings = Settings()
    rows = changes.listed(settings, host or settings.host)
    click.echo(TABLES[output](rows), nl=False)


def _progress(line: str) -> None:
    click.echo(line, err=True)
