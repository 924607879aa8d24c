"""What a plan asks for, as options of the commands that add or estimate one."""

from collections.abc import Callable
from typing import Any

import click

from ingest.errors import PlanRequestError
from supertwin.cli_host import HOST

_OPTIONS = (
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
        help="A parameter of the query; several times for several.",
    ),
    click.option(
        "--instance",
        "instances",
        multiple=True,
        metavar="NAME",
        help="Instance that is sampled; several times for several.",
    ),
)
HOST_OPTION = click.option(
    "--host", type=HOST, default=None, help="Name of the host; else this one."
)


def plan_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Which instances are sampled: ``query``, ``params`` and ``instances``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def parameters(pairs: tuple[str, ...]) -> dict[str, str]:
    """Parameters given as K=V; raises PlanRequestError."""
    given: dict[str, str] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise PlanRequestError(f"--param {pair!r} is no K=V: write socket=0")
        if key in given:
            raise PlanRequestError(f"--param {key} is given twice: give it once")
        given[key] = value
    return given
