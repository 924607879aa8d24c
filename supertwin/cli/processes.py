"""`supertwin process`: names for programs that end and start again."""

import click

from core.settings import audit
from core.settings.settings import Settings
from core.stores.datasets import dataset
from ingest.errors import UnknownProcessError
from ingest.loading import read_twin
from ingest.named_processes import TEXTS, NamedProcess, forget_process, name_process
from ontology.iris import Iris
from queries.errors import UnknownHostError
from supertwin.cli.confirm import YES_OPTION, confirm_removal


@click.group("process")
def process_command() -> None:
    """Name programs that end and start again, such as daemons.

    A name is bound to the process that runs, and keeps earlier ones. `supertwin query
    process/named` lists the bound processes, `process/bindings` the earlier ones.
    """


@process_command.command("name")
@click.argument("name")
@click.option(
    "--match",
    "expression",
    required=True,
    help="Regular expression that finds the process; the oldest match is used.",
)
@click.option(
    "--in",
    "text",
    type=click.Choice(TEXTS),
    default="name",
    show_default=True,
    help="What to match: the kernel's name, or the whole command line.",
)
def name_command(name: str, expression: str, text: str) -> None:
    """Give a program of this machine a name; a known name gets a new expression."""
    settings = Settings()
    named = NamedProcess(name, expression, text)
    _check_host(settings)
    with dataset(settings, "twin") as twin:
        name_process(twin, Iris(settings.base), settings.host, named)
    _note(settings, "process.named", name)
    iri = Iris(settings.base).component(settings.host, "process", name)
    click.echo(f"{name} is followed: {iri}")


@process_command.command("forget")
@click.argument("name")
@YES_OPTION
def forget_command(name: str, yes: bool) -> None:
    """Remove a name and its list of processes."""
    confirm_removal(f"the name {name} with what it was bound to", yes)
    settings = Settings()
    with dataset(settings, "twin") as twin:
        known = forget_process(twin, Iris(settings.base), settings.host, name)
    if not known:
        raise UnknownProcessError(
            f"no process of {settings.host} has the name {name[:64]!r}: "
            "`supertwin query process/named` lists them"
        )
    _note(settings, "process.forgotten", name)
    click.echo(f"{name} is forgotten")


def _note(settings: Settings, what: str, name: str) -> None:
    thing = f"{settings.host} {name}"
    audit.record(settings.home, audit.local_user(), what, thing)


def _check_host(settings: Settings) -> None:
    """Check that the host is in the twin, so that the name is not orphaned."""
    if read_twin(settings, settings.host) is None:
        raise UnknownHostError(
            f"{settings.host} is not in the twin: run `supertwin up`, or "
            "`supertwin ingest`"
        )
