"""`supertwin import darshan`."""

from pathlib import Path

import click

from core.settings import audit
from core.settings.settings import Settings
from core.stores.datasets import dataset
from observations.file_io.import_log import import_log
from ontology.iris import Iris
from supertwin.cli.parameters import NonEmptyPath
from supertwin.cli.wording import counted


@click.command("darshan")
@click.argument("log", type=NonEmptyPath())
@click.option(
    "--run",
    "id_",
    metavar="ID",
    required=True,
    help="The run that the program was part of.",
)
def import_darshan(log: Path, id_: str) -> None:
    """Add the file I/O in a Darshan log to a recorded run."""
    settings = Settings()
    with dataset(settings, "twin") as twin:
        found = import_log(twin, Iris(settings.base), id_, log)
    audit.record(settings.home, audit.local_user(), "run.io-imported", id_)
    rows, ranks = counted(len(found.files), "row"), counted(found.processes, "rank")
    query = f"supertwin query observations/io --id {id_}"
    click.echo(f"imported {rows} of file I/O of {ranks}: `{query}` lists them")
