"""`supertwin export dtdl`."""

from pathlib import Path

import click

from core.settings.settings import Settings
from dtdl.host_export import dtdl_of
from dtdl.versions import VERSIONS
from ingest.host_name import check_host
from supertwin.cli.host import HOST
from supertwin.cli.lazy import all_alive
from supertwin.cli.out_file import hand_out
from supertwin.cli.parameters import NonEmptyPath


@click.command("dtdl")
@click.option(
    "--host", type=HOST, help="Name of the host; this machine's is SUPERTWIN_HOST."
)
@click.option(
    "--version",
    type=click.Choice([str(number) for number in VERSIONS]),
    default="2",
    help="Version of DTDL. Only 2 can hold the whole graph.  [default: 2]",
)
@click.option("--out", type=NonEmptyPath(), help="Write the document here.")
def export_dtdl(host: str | None, version: str, out: Path | None) -> None:
    """Export a host as DTDL, with an Interface for each component."""
    settings = Settings()
    name = check_host(host or settings.host)
    with all_alive():
        text = b"".join(dtdl_of(settings, name, int(version))).decode()
    hand_out(text, out, f"{name} written to {out} as DTDL {version}")
