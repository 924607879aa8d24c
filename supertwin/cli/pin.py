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
from supertwin.cli.parameters import TEXT


def _words() -> str:
    lines = (f"  {word:32}{about}" for word, about in WORDS.items())
    return "\b\nPolicies, joined by +:\n" + "\n".join(lines)


@click.command(
    "pin",
    help="Choose CPUs of a host for the threads of a program.\n\n"
    "The answer is printed on standard output, the reason on standard error. Only the "
    "graph is read, so the host may be remote or switched off.\n\n" + _words(),
)
@click.option("--host", type=HOST, help="Host name.  [default: this host]")
@click.option(
    "--threads",
    metavar="N",
    type=TEXT,
    help="Number of threads, with --ranks of each. Optional with per: and likwid:.",
)
@click.option("--policy", type=TEXT, help="How to choose them.  [default: compact]")
@click.option(
    "--format",
    type=TEXT,
    metavar="|".join(FORMATS),
    help="Format of the answer.  [default: cpus]",
)
@click.option("--ranks", metavar="R", type=TEXT, help="Number of ranks (MPI) in all.")
@click.option("--nodes", metavar="N", type=TEXT, help="Nodes, all like the host.")
@click.option(
    "--map",
    type=TEXT,
    metavar="|".join(MAPS),
    help="Assign ranks to these in turn.",
)
@click.option("--rank", type=TEXT, metavar="|".join(RANKS), help="How to number ranks.")
@click.option(
    "--bind", type=TEXT, metavar="|".join(BINDS), help="What to bind each rank to."
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def pin_command(host: str | None, as_json: bool, **options: str | None) -> None:
    settings = Settings()
    given = {name: text for name, text in options.items() if text is not None}
    pin_request = PinningRequest(host or settings.host, **given)
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
