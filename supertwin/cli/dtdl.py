"""`supertwin export dtdl` and `supertwin import dtdl`."""

from pathlib import Path

import click

from dtdl.errors import DocumentError
from dtdl.read import read
from dtdl.versions import VERSIONS
from ingest.probe import check_host
from ingest.sources.files import read_file
from supertwin.cli.host import CONFIRM_OPTION, HOST
from supertwin.cli.ingest import hand_out
from supertwin.cli.summary import twin_line
from supertwin.exchange import dtdl_of, load_dtdl
from supertwin.loading import read_twin
from supertwin.settings import Settings


@click.command("dtdl")
@click.option(
    "--host", type=HOST, help="Name of the host; this machine's is SUPERTWIN_HOST."
)
@click.option(
    "--version",
    type=click.Choice([str(number) for number in VERSIONS]),
    default="2",
    help="Of DTDL. Only 2 has room for all that the graph says; the default.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Write the document here.")
def export_dtdl(host: str | None, version: str, out: Path | None) -> None:
    """A host as DTDL: an Interface for each of its components."""
    settings = Settings()
    name = check_host(host or settings.host)
    text = b"".join(dtdl_of(settings, name, int(version))).decode()
    hand_out(text, out, f"{name} written to {out} as DTDL {version}")


@click.command("dtdl")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--host", type=HOST, help="Another name for the host in the file.")
@CONFIRM_OPTION
def import_dtdl(file: Path, host: str | None, confirm: bool) -> None:
    """A DTDL document of version 2 that was exported, as the twin of its host."""
    settings = Settings()
    text = read_file(file)
    try:
        document = read(text, settings.base, check_host(host) if host else None)
    except DocumentError as error:
        raise DocumentError(f"{file}: {error}") from None
    check_host(document.host)
    load_dtdl(settings, document, _progress, confirm)
    if twin := read_twin(settings, document.host):
        click.echo(twin_line(twin))


def _progress(line: str) -> None:
    click.echo(line, err=True)
