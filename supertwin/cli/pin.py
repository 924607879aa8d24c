"""`supertwin pin`: CPUs for threads or ranks, as in the API's `/pin`."""

import asyncio
from typing import Any

import click

from api.services import make_services
from core.settings.settings import Settings
from pinning.formats import FORMATS
from pinning.hybrid import BINDS, MAPS, RANKS
from pinning.placing import PinningRequest, place
from pinning.policy import WORDS
from supertwin.cli.host import HOST


def _words() -> str:
    lines = (f"  {word:32}{about}" for word, about in WORDS.items())
    return "\b\nPolicies, joined by +:\n" + "\n".join(lines)


@click.command(
    "pin",
    help="Choose CPUs of a host for the threads of a program.\n\n"
    "The CPUs are printed on standard output, the reason on standard error. Only the "
    "graph is read, so any host of the twin can be named.\n\n" + _words(),
)
@click.option("--host", type=HOST, help="Host name.  [default: this host]")
@click.option(
    "--threads",
    metavar="N",
    default="",
    help="Number of threads, not with per: and likwid:. With --ranks, of each rank.",
)
@click.option("--policy", default="", help="Pinning policy.  [default: compact]")
@click.option(
    "--format",
    "form",
    default="",
    metavar="|".join(FORMATS),
    help="Output format.  [default: cpus]",
)
@click.option("--ranks", metavar="R", default="", help="Total number of (MPI) ranks.")
@click.option("--nodes", metavar="N", default="", help="Number of nodes like the host.")
@click.option(
    "--map", "map_", default="", metavar="|".join(MAPS), help="Deal ranks to …"
)
@click.option("--rank", default="", metavar="|".join(RANKS), help="Number ranks by …")
@click.option("--bind", default="", metavar="|".join(BINDS), help="Bind ranks to …")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def pin_command(
    host: str | None, form: str, map_: str, as_json: bool, **given: str
) -> None:
    settings = Settings()
    pin_request = PinningRequest(host or settings.host, format=form, map=map_, **given)
    found = asyncio.run(_placed(settings, pin_request))
    if as_json:
        import orjson

        click.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2))
        return
    click.echo(found["text"])
    click.echo(found["reason"], err=True)


async def _placed(settings: Settings, pin_request: PinningRequest) -> dict[str, Any]:
    services = make_services(settings)
    try:
        found, _ = await place(services, pin_request)
    finally:
        await services.aclose()
    return found
