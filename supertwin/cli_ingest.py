"""`supertwin probe` and `supertwin ingest`: facts of a machine, and its twin."""

import json
import os
from pathlib import Path
from typing import Any

import click

from ingest.document import check_document
from ingest.errors import DocumentError, TopologyError
from ingest.hwloc import parse_hwloc, read_file
from ingest.probe import FORMAT, check_host, hwloc_document, probe
from supertwin.loading import load_document, read_twin
from supertwin.settings import Settings
from supertwin.stack import pmcd_address
from supertwin.summary import twin_line


@click.command("probe")
@click.option("--out", type=click.Path(path_type=Path), help="Write the facts here.")
def probe_command(out: Path | None) -> None:
    """Collect the facts of this machine as JSON; nothing is loaded."""
    settings = Settings()
    document = probe(check_host(settings.host), pmcd_address(settings), _progress)
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text)
        click.echo(f"facts of {settings.host} written to {out}", err=True)


@click.command("ingest")
@click.option(
    "--probe",
    "probe_file",
    type=click.Path(path_type=Path),
    help="A file that `supertwin probe --out` wrote.",
)
@click.option(
    "--hwloc", "hwloc_file", type=click.Path(path_type=Path), help="hwloc's XML."
)
@click.option(
    "--host", help="Name of the machine in the file; this one's is SUPERTWIN_HOST."
)
@click.option("--confirm", is_flag=True, help="Replace another machine of that name.")
def ingest_command(
    probe_file: Path | None, hwloc_file: Path | None, host: str | None, confirm: bool
) -> None:
    """Make a machine's facts its twin; without a file, this machine's, probed now."""
    settings = Settings()
    if probe_file and hwloc_file:
        raise click.UsageError("give --probe or --hwloc, not both")
    if host and not (hwloc_file or probe_file):
        raise click.UsageError("--host names the machine of a file, and none is given")
    if hwloc_file and not host:
        raise click.UsageError("--hwloc needs --host NAME: the file names no machine")
    document = _document(settings, probe_file, hwloc_file, host)
    load_document(settings, document, _progress, confirm)
    if twin := read_twin(settings, document["host"]):
        click.echo(twin_line(twin))


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole, or not at all.

    A device or a pipe is written to as it is, a link stays and its target is written.
    """
    path = path.resolve()
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_text(text, "utf-8")
        return
    if path.is_dir() or not path.parent.is_dir():
        raise click.UsageError(f"--out {path}: give a file in a folder that exists")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, "utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _document(
    settings: Settings,
    probe_file: Path | None,
    hwloc_file: Path | None,
    host: str | None,
) -> dict[str, Any]:
    if hwloc_file:
        return hwloc_document(check_host(host or ""), _read_topology(hwloc_file))
    if probe_file:
        return _read_document(probe_file, host)
    return probe(check_host(settings.host), pmcd_address(settings), _progress)


def _read_topology(path: Path) -> dict[str, Any]:
    try:
        return parse_hwloc(read_file(path))
    except TopologyError as error:
        raise TopologyError(f"{path}: {error}") from error


def _read_document(path: Path, host: str | None) -> dict[str, Any]:
    """The document in a file, of the machine in it unless another name is given."""
    try:
        document = json.loads(read_file(path))
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{path} is no JSON: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DocumentError(
            f"{path} is no probe file: `supertwin probe --out FILE` writes them"
        )
    document |= {"host": check_host(host or str(document.get("host", "")))}
    try:
        check_document(document)
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from None
    return document


def _progress(line: str) -> None:
    click.echo(line, err=True)
