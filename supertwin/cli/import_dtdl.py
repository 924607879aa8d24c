"""`supertwin import dtdl`."""

from pathlib import Path

import click

from core.settings import audit
from core.settings.settings import Settings
from dtdl.errors import DtdlDocumentError
from dtdl.exchange import load_dtdl
from dtdl.read import read
from ingest.host_name import check_host
from ingest.loading import read_twin
from ingest.sources.files import read_file
from supertwin.cli.host import CONFIRM_OPTION, HOST
from supertwin.cli.parameters import NonEmptyPath
from supertwin.cli.summary import twin_line


@click.command("dtdl")
@click.argument("file", type=NonEmptyPath())
@click.option("--host", type=HOST, help="Another name for the host in the file.")
@CONFIRM_OPTION
def import_dtdl(file: Path, host: str | None, confirm: bool) -> None:
    """Load an exported DTDL document of version 2 as the twin of its host."""
    settings = Settings()
    text = read_file(file)
    try:
        document = read(text, settings.base, check_host(host) if host else None)
    except DtdlDocumentError as error:
        raise DtdlDocumentError(f"{file}: {error}") from None
    check_host(document.host)
    load_dtdl(settings, document, _progress, confirm)
    audit.record(settings.home, audit.local_user(), "host.added", document.host)
    if twin := read_twin(settings, document.host):
        click.echo(twin_line(twin))


def _progress(line: str) -> None:
    click.echo(line, err=True)
