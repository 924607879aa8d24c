"""Options of the commands that add or estimate a plan."""

from collections.abc import Callable
from typing import Any

import click

from ingest.errors import PlanRequestError
from sampling.plans.request import PlanRequest, parse_period

_OPTIONS = (
    click.option(
        "--role",
        "roles",
        multiple=True,
        metavar="ROLE",
        help="Role to measure, such as FLOPs; may be repeated.",
    ),
    click.option(
        "--event",
        "events",
        multiple=True,
        metavar="PMU::EVENT",
        help="PMU event to count; may be repeated.",
    ),
    click.option(
        "--multiplex",
        is_flag=True,
        help="Let events share counters if there are too few.",
    ),
    click.option(
        "--query",
        default="",
        metavar="NAME",
        help="Saved query whose components are sampled, such as "
        "topology/socket-threads.",
    ),
    click.option(
        "--param",
        "params",
        multiple=True,
        metavar="K=V",
        help="Parameter of the query; may be repeated.",
    ),
    click.option(
        "--instance",
        "instances",
        multiple=True,
        metavar="NAME",
        help="Instance to sample; may be repeated.",
    ),
)


def plan_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add options for roles, events, queries and instances, for `plan_request`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def plan_request(
    host: str, name: str, metrics: tuple[str, ...], period: str, **options: Any
) -> PlanRequest:
    """Build the requested plan; raises PlanRequestError."""
    given = _parameters(options.pop("params"))
    period_ms = parse_period(period)
    return PlanRequest(host, name, metrics, period_ms, parameters=given, **options)


def _parameters(pairs: tuple[str, ...]) -> dict[str, str]:
    """Parameters given as K=V; raises PlanRequestError."""
    given: dict[str, str] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise PlanRequestError(f"--param {pair!r}: expected K=V, such as socket=0")
        if key in given:
            raise PlanRequestError(f"--param {key} is given twice: give it once")
        given[key] = value
    return given
