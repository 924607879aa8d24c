"""`supertwin export observation` and `import observation`: runs taken elsewhere."""

from dataclasses import replace
from pathlib import Path

import click

from observations.crate import read_crate, write_crate
from queries.binding import Param, convert
from queries.errors import ParameterError
from supertwin.bringing import bring
from supertwin.carrying import Carried, carried, crate_files, csv_of, parquet_of
from supertwin.cli.host import HOST
from supertwin.cli.ingest import write_whole
from supertwin.loading import dataset
from supertwin.settings import Settings

FORMATS = ("rocrate", "csv", "parquet", "jsonld")


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
    help="rocrate: a Process Run Crate with all of it; csv and parquet: its samples; "
    "jsonld: its graph.  [default: rocrate]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="Where to; a crate is a folder, or a zip where the name ends so.",
)
@click.option(
    "--license",
    "license_",
    metavar="IRI",
    default="",
    callback=_checked_iri,
    help="Of a crate: how others may use it, such as "
    "https://creativecommons.org/licenses/by/4.0/.",
)
def export_observation(id_: str, form: str, out: Path, license_: str) -> None:
    """A run, with what was sampled meanwhile."""
    settings = Settings()
    with dataset(settings, "twin") as twin:
        found = carried(settings, twin, id_)
    if form == "rocrate":
        write_crate(out, replace(found.told, license=license_), crate_files(found))
    elif form == "csv":
        write_whole(out, csv_of(found.points))
    elif form == "jsonld":
        write_whole(out, _json_ld(settings, found))
    else:
        write_whole(out, parquet_of(found.points))
    click.echo(f"{found.told.node}: {len(found.points)} samples, {out}", err=True)


@click.command("observation")
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option("--host", type=HOST, help="Another name for its host.")
@click.option(
    "--confirm",
    is_flag=True,
    help="Its host is the one that is known here by that name.",
)
def import_observation(path: Path, host: str | None, confirm: bool) -> None:
    """A crate that `supertwin export observation` wrote, here or elsewhere."""
    settings = Settings()
    with dataset(settings, "twin") as twin:
        node = bring(settings, twin, read_crate(path), host or "", confirm)
    click.echo(node)


def _json_ld(settings: Settings, found: Carried) -> bytes:
    from rdflib import URIRef

    from api.rdf import json_ld

    context = f"{settings.base.rstrip('/')}/context.jsonld"
    return json_ld(found.graph, context, URIRef(found.told.node))
