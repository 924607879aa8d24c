"""`supertwin perfevent`: PMU events and roles become counters, series and values."""

from collections.abc import Callable

import click

from sampler_bridge.perfevent.choice import RoleFormula
from sampler_bridge.perfevent.expression import (
    dutycycle_expression,
    role_expression,
    role_series,
)
from supertwin.cli_host import HOST
from supertwin.errors import MendableError
from supertwin.loading import load_host
from supertwin.perfevent import Prepared, apply, prepare
from supertwin.pmcd import own_socket
from supertwin.settings import Settings


@click.group("perfevent")
def perfevent_command() -> None:
    """Count PMU events and roles with PCP's perfevent agent."""


def _asked(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--multiplex", is_flag=True, help="Let events share counters."),
        click.option("--event", "events", multiple=True, help="PMU::EVENT:UMASK."),
        click.option("--role", "roles", multiple=True, help="A role, such as FLOPs."),
    ):
        command = option(command)
    return command


@perfevent_command.command("show")
@click.option("--host", type=HOST, help="Host of the twin.  [default: this host]")
@_asked
def show_command(
    host: str | None, roles: tuple[str, ...], events: tuple[str, ...], multiplex: bool
) -> None:
    """Print the agent's configuration for roles and events; nothing is changed."""
    settings = Settings()
    prepared = _prepared(settings, host or settings.host, roles, events, multiplex)
    click.echo(prepared.text, nl=False)


@perfevent_command.command("apply")
@_asked
def apply_command(
    roles: tuple[str, ...], events: tuple[str, ...], multiplex: bool
) -> None:
    """Count these roles and events on this machine, instead of those before.

    PMCD must be ours. Its other agents go on; the metrics are in the twin afterwards.
    """
    settings = Settings()
    prepared = _prepared(settings, settings.host, roles, events, multiplex)
    apply(settings, prepared, _progress)
    load_host(settings, f"unix://{own_socket(settings)}", _progress)
    for name in prepared.metrics:
        click.echo(name)


@perfevent_command.command("off")
def off_command() -> None:
    """Count nothing any more: the agent ends, and its counters are free."""
    settings = Settings()
    apply(settings, None, _progress)
    load_host(settings, f"unix://{own_socket(settings)}", _progress)
    click.echo("nothing is counted")


@perfevent_command.command("expression")
@click.argument("role")
@click.option("--host", type=HOST, help="Host of the twin.  [default: this host]")
@click.option("--window", default="", help="Time to look back, such as 30s.")
@click.option(
    "--least",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    show_default=True,
    help="Leave out what had a counter for this share of the time or less.",
)
@click.option("--dutycycle", "duty", is_flag=True, help="That share itself.")
@click.option("--series", is_flag=True, help="List the series that it needs.")
def expression_command(
    role: str, host: str | None, window: str, least: float, duty: bool, series: bool
) -> None:
    """Print a role's formula in MetricsQL, over the series of its events."""
    settings = Settings()
    where = host or settings.host
    prepared = _told(prepare(settings, where, (role,), (), multiplex=True))
    (formula,) = prepared.choice.roles
    if series:
        click.echo("\n".join(role_series(formula)))
    elif duty:
        click.echo(dutycycle_expression(prepared.host, formula))
    else:
        click.echo(_expression(prepared, formula, window, least))


def _expression(
    prepared: Prepared, formula: RoleFormula, window: str, least: float
) -> str:
    return role_expression(prepared.host, formula, window=window, least=least)


def _prepared(
    settings: Settings,
    host: str,
    roles: tuple[str, ...],
    events: tuple[str, ...],
    multiplex: bool,
) -> Prepared:
    """Prepare all or nothing; remarks are told."""
    if not (roles or events):
        raise MendableError("name what to count: --role ROLE or --event PMU::EVENT")
    prepared = _told(prepare(settings, host, roles, events, multiplex))
    for line in prepared.remarks:
        _progress(line)
    return prepared


def _told(prepared: Prepared) -> Prepared:
    """Raise MendableError for what was refused."""
    if refused := prepared.choice.refused:
        raise MendableError("; ".join(refused.values()))
    return prepared


def _progress(line: str) -> None:
    click.echo(line, err=True)
