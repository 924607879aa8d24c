"""`supertwin perfevent`: how PMU events and roles become counters and series."""

from collections.abc import Callable

import click

from core.settings.settings import Settings
from core.stores.datasets import dataset
from sampling.counters.perfevent import CountingSetup, prepare
from sampling.events.choice import RoleFormula
from sampling.events.expression import (
    dutycycle_expression,
    role_expression,
    role_series,
)
from sampling.plans import changes
from supertwin.cli.host import HOST
from supertwin.cli.parameters import FiniteNumber
from supertwin.cli.wording import counted


@click.group("perfevent")
def perfevent_command() -> None:
    """Show how PMU events and roles are counted; `supertwin sample add` counts them."""


_HOST = click.option(
    "--host", type=HOST, help="Host of the twin.  [default: this host]"
)


def _request_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--multiplex", is_flag=True, help="Let events share counters."),
        click.option("--event", "events", multiple=True, help="PMU::EVENT:UMASK."),
        click.option("--role", "roles", multiple=True, help="A role, such as FLOPs."),
    ):
        command = option(command)
    return command


@perfevent_command.command("show")
@_HOST
@_request_options
def show_command(
    host: str | None, roles: tuple[str, ...], events: tuple[str, ...], multiplex: bool
) -> None:
    """Print the agent's configuration for roles and events; nothing is changed."""
    if not (roles or events):
        raise click.UsageError("name what to count: --role ROLE or --event PMU::EVENT")
    settings = Settings()
    with dataset(settings, "twin") as twin:
        target = (host or settings.host, roles, events, multiplex)
        prepared = prepare(twin, *target).checked()
    for line in prepared.remarks:
        _progress(line)
    click.echo(prepared.text, nl=False)


@perfevent_command.command("resume")
@_HOST
def resume_command(host: str | None) -> None:
    """Count the events of a host's plans again, for example after its reboot.

    If they are counted already, nothing changes.
    """
    settings = Settings()
    target = host or settings.host
    events = changes.resume(settings, target, _progress)
    click.echo(f"{target}: {counted(events, 'event')} counted")


@perfevent_command.command("expression")
@click.argument("role")
@_HOST
@click.option("--window", default="", help="Time to look back, such as 30s.")
@click.option(
    "--least",
    type=FiniteNumber(0, 1, max_open=True),
    default=0.0,
    show_default=True,
    help="Leave out events that had a counter for this share of time or less.",
)
@click.option(
    "--dutycycle",
    "duty",
    is_flag=True,
    help="Print the share of time with a counter instead.",
)
@click.option("--series", is_flag=True, help="List the series that it needs.")
def expression_command(
    role: str, host: str | None, window: str, least: float, duty: bool, series: bool
) -> None:
    """Print a role's formula in MetricsQL, over the series of its events."""
    settings = Settings()
    where = host or settings.host
    with dataset(settings, "twin") as twin:
        prepared = prepare(twin, where, (role,), (), multiplex=True).checked()
    (formula,) = prepared.choice.roles
    if series:
        click.echo("\n".join(role_series(formula)))
    elif duty:
        click.echo(dutycycle_expression(prepared.host, formula))
    else:
        click.echo(_expression(prepared, formula, window, least))


def _expression(
    prepared: CountingSetup, formula: RoleFormula, window: str, least: float
) -> str:
    return role_expression(prepared.host, formula, window=window, least=least)


def _progress(line: str) -> None:
    click.echo(line, err=True)
