"""`supertwin export observation` and `import observation`: runs taken elsewhere."""

from pathlib import Path

import click

from observations.crate import read_crate, write_crate
from supertwin.carrying import Carried, bring, carried, crate_files, csv_of
from supertwin.cli.ingest import write_whole
from supertwin.errors import MendableError
from supertwin.loading import dataset
from supertwin.settings import Settings

FORMATS = ("rocrate", "csv", "parquet", "jsonld")


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
def export_observation(id_: str, form: str, out: Path) -> None:
    """A run, with what was sampled meanwhile."""
    settings = Settings()
    with dataset(settings, "twin") as twin:
        found = carried(settings, twin, id_)
    if form == "rocrate":
        write_crate(out, found.told, crate_files(found))
    elif form == "csv":
        write_whole(out, csv_of(found.points).decode())
    elif form == "jsonld":
        write_whole(out, _json_ld(settings, found))
    else:
        _write_parquet(out, found)
    click.echo(f"{found.told.node}: {len(found.points)} samples, {out}", err=True)


@click.command("observation")
@click.argument("path", type=click.Path(path_type=Path, exists=True))
def import_observation(path: Path) -> None:
    """A crate that `supertwin export observation` wrote, here or elsewhere."""
    settings = Settings()
    with dataset(settings, "twin") as twin:
        node = bring(settings, twin, read_crate(path))
    click.echo(node)


def _json_ld(settings: Settings, found: Carried) -> str:
    from rdflib import URIRef

    from api.rdf import json_ld

    context = f"{settings.base.rstrip('/')}/context.jsonld"
    return json_ld(found.graph, context, URIRef(found.told.node)).decode()


def _write_parquet(out: Path, found: Carried) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    if not out.absolute().parent.is_dir() or out.is_dir():
        raise MendableError(f"--out {out}: give a file in a folder that exists")
    columns = zip(*found.points, strict=True) if found.points else ((),) * 5
    types = (pa.string(), pa.string(), pa.string(), pa.timestamp("ms", "UTC"))
    names = ("series", "hostname", "instance", "time", "value")
    arrays = [
        pa.array(list(column), type_)
        for column, type_ in zip(columns, (*types, pa.float64()), strict=True)
    ]
    partial = out.with_name(f".{out.name}.partial")
    try:
        parquet.write_table(pa.table(arrays, names=names), partial)
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)
