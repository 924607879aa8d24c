"""`supertwin sample estimate`: estimate the cost of sampling in advance."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from core.settings.setting_types import days
from core.settings.settings import Settings
from sampling.cost.fleet import fleet_document, fleet_lines
from sampling.cost.plan_cost import (
    FleetCost,
    PlanCost,
    beyond_limit,
    beyond_limit_warning,
    check_cost,
    fleet_cost,
    plan_cost,
)
from sampling.cost.wording import (
    as_document,
    basis_lines,
    cost_lines,
    load_lines,
    one_line,
    total_line,
    unsure_lines,
)
from sampling.plans.request import PlanRequest
from supertwin.cli.host import HOST_OPTION
from supertwin.cli.plan_options import plan_options, plan_request


@click.command("estimate")
@click.argument("metrics", metavar="[METRIC]…", nargs=-1)
@click.option("--period", help="Time between two samples: 1ms to 1h, such as 10ms.")
@plan_options
@click.option("--fleet", is_flag=True, help="Estimate all plans of all hosts instead.")
@click.option(
    "--hosts",
    type=click.IntRange(min=1),
    default=None,
    help="With --fleet: estimate N hosts like this one.",
)
@HOST_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def estimate_command(
    metrics: tuple[str, ...],
    period: str | None,
    fleet: bool,
    hosts: int | None,
    host: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Estimate the CPU, memory, disk and network that a plan would cost.

    CPU, memory and disk follow from the calibration of this machine
    (`supertwin sample calibrate`), or from the default model without one.
    """
    settings = Settings()
    if fleet and (metrics or period or any(options.values())):
        raise click.UsageError(
            "--fleet estimates the existing plans: leave out METRIC, --period and "
            "other options of a new plan"
        )
    if hosts is not None and not fleet:
        raise click.UsageError("--hosts needs --fleet: give both")
    target = host or settings.host
    if fleet:
        found = fleet_cost(settings, host, hosts)
        kept = days(settings.retention)
        _print(
            fleet_document(found.hosts, found.load, found.cost, kept, found.model),
            _fleet_lines(found, kept, target),
            as_json,
        )
        return
    if not period:
        raise click.UsageError("give METRIC and --period, or --fleet")
    request = plan_request(target, "", metrics, period, **options)
    cost = plan_cost(settings, request)
    _print(
        as_document(cost.added, cost.cost, cost.model),
        _plan_lines(cost, remote=target != settings.host),
        as_json,
    )


def _print(document: dict[str, Any], lines: Iterator[str], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        click.echo("\n".join(lines))


def _plan_lines(found: PlanCost, remote: bool) -> Iterator[str]:
    yield f"it would add to {found.host}:"
    yield from load_lines(found.added)
    yield from cost_lines(found.cost, remote)
    yield total_line(found.host, found.whole, found.total)
    yield from unsure_lines(found.cost, found.added)
    yield from basis_lines(found.model, found.host, found.cost.cpu)


def _fleet_lines(found: FleetCost, kept: float, host: str) -> Iterator[str]:
    yield from fleet_lines(found.hosts, found.load, found.cost, kept)
    yield from unsure_lines(found.cost, found.load)
    others = [name for name in found.hosts if name != found.model.host]
    yield from basis_lines(found.model, others[0] if others else host, found.cost.cpu)


def consent(settings: Settings, request: PlanRequest, yes: bool) -> None:
    """Print what a plan costs; if that exceeds or may exceed the limits, ask.

    Without a terminal, the upper end of the default model refuses nothing.

    Raises CostlyPlanError for a plan beyond a limit without a terminal, click.Abort if
    the answer is no.
    """
    found = plan_cost(settings, request)
    click.echo(one_line(found.added, found.cost, found.model), err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        check_cost(settings, found)
        return
    beyond = beyond_limit(settings, found) or beyond_limit_warning(settings, found)
    if not beyond:
        return
    click.confirm(f"That is beyond the limit ({beyond}). Add it?", abort=True, err=True)
