"""`supertwin export observation` and `import observation`: exchange runs."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click

from core.linux.private_folder import make_private
from core.settings import audit
from core.settings.settings import Settings
from core.stores.datasets import dataset
from observations.exchange.crate_reader import read_crates
from observations.exchange.export import (
    ExportedRun,
    export_runs,
    samples_csv,
    samples_parquet,
    write_crates_of,
)
from observations.exchange.import_ import FILES, import_run
from observations.timeline.trace import trace_of
from queries.binding import Param, convert
from queries.errors import ParameterError
from supertwin.cli.host import HOST
from supertwin.cli.out_file import write_parts, write_whole
from supertwin.cli.parameters import NonEmptyPath
from supertwin.cli.wording import counted

FORMATS = ("rocrate", "csv", "parquet", "jsonld", "perfetto")


def _checked_iri(_: click.Context, __: click.Parameter, text: str) -> str:
    if text:
        try:
            convert(Param("--license", "iri"), text)
        except ParameterError as error:
            raise click.BadParameter(str(error)) from None
    return text


@click.command("observation")
@click.argument("id_", metavar="ID")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="rocrate",
    help="rocrate: a Process Run Crate with everything; csv and parquet: the samples; "
    "jsonld: the graph; perfetto: a trace for ui.perfetto.dev.  [default: rocrate]",
)
@click.option(
    "--out",
    type=NonEmptyPath(),
    required=True,
    help="File to write. A crate is a folder, or a zip file if the name ends in .zip.",
)
@click.option(
    "--license",
    "license_",
    metavar="IRI",
    default="",
    callback=_checked_iri,
    help="Licence of a crate, such as https://creativecommons.org/licenses/by/4.0/.",
)
def export_observation(id_: str, form: str, out: Path, license_: str) -> None:
    """Write a run, or all repetitions of a group, with its samples.

    For a group, the crate is a folder (or zip) with a crate for each run, and tables
    have a first column `run`.
    """
    settings = Settings()
    if form == "perfetto":
        _write_trace(settings, id_, out)
        return
    with dataset(settings, "twin") as twin:
        found = export_runs(settings, twin, id_)
    if form == "rocrate":
        write_crates_of(found, out, license_)
    elif form == "csv":
        write_whole(out, samples_csv(found))
    elif form == "jsonld":
        write_whole(out, _json_ld(settings, found))
    else:
        write_whole(out, samples_parquet(found))
    for one in found:
        _say(one, out)


@click.command("observation")
@click.argument("path", type=NonEmptyPath(exists=True))
@click.option("--host", type=HOST, help="Another name for its host.")
@click.option(
    "--confirm",
    is_flag=True,
    help="Its host is the host of that name here.",
)
def import_observation(path: Path, host: str | None, confirm: bool) -> None:
    """Load the runs that `supertwin export observation` wrote."""
    settings = Settings()
    make_private(settings.home)
    crates = closing(read_crates(path, FILES, settings.home))
    with dataset(settings, "twin") as twin, crates as found:
        for crate in found:
            node = import_run(settings, twin, crate, host or "", confirm)
            audit.record(settings.home, audit.local_user(), "run.imported", node)
            click.echo(node)


def _write_trace(settings: Settings, id_: str, out: Path) -> None:
    with dataset(settings, "twin") as twin:
        trace = trace_of(settings, twin, id_)
    write_parts(out, trace.parts())
    runs, values = counted(len(trace.runs), "run"), counted(trace.samples, "value")
    click.echo(f"{runs}: {values}, {out}", err=True)


def _say(one: ExportedRun, out: Path) -> None:
    samples = counted(len(one.points), "sample")
    click.echo(f"{one.metadata.node}: {samples}, {out}", err=True)


def _json_ld(settings: Settings, found: Sequence[ExportedRun]) -> bytes:
    from rdflib import Graph, URIRef

    from api.rdf import json_ld

    context = f"{settings.base.rstrip('/')}/context.jsonld"
    graph = sum((one.graph for one in found), Graph())
    return json_ld(graph, context, URIRef(found[0].metadata.node))
