"""`supertwin probe` and `supertwin ingest`: facts of a machine, and its twin."""

import json
import os
from pathlib import Path
from typing import Any

import click

from ingest.errors import DocumentError, TopologyError
from ingest.hwloc import parse_hwloc, read_file
from ingest.probe import check_host, hwloc_document, probe
from supertwin.loading import Loaded, load_document
from supertwin.settings import Settings
from supertwin.stack import pmcd_address


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
@click.option("--host", help="Name of the machine; needed with --hwloc.")
@click.option("--confirm", is_flag=True, help="Replace another machine of that name.")
def ingest_command(
    probe_file: Path | None, hwloc_file: Path | None, host: str | None, confirm: bool
) -> None:
    """Make a machine's facts its twin; without a file, this machine's, probed now."""
    settings = Settings()
    if probe_file and hwloc_file:
        raise click.UsageError("give --probe or --hwloc, not both")
    if hwloc_file and not host:
        raise click.UsageError("--hwloc needs --host NAME: the file names no machine")
    document = _document(settings, probe_file, hwloc_file, host)
    click.echo(_summary(load_document(settings, document, _progress, confirm)))


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole, or not at all."""
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
        document = _read_document(probe_file)
        return document | {"host": check_host(host or document["host"])}
    name = check_host(host or settings.host)
    return probe(name, pmcd_address(settings), _progress)


def _read_topology(path: Path) -> dict[str, Any]:
    try:
        return parse_hwloc(read_file(path))
    except TopologyError as error:
        raise TopologyError(f"{path}: {error}") from error


def _read_document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(read_file(path))
    except ValueError as error:
        raise DocumentError(f"{path} is no JSON: {error}") from error
    if not isinstance(document, dict) or document.get("format") != "supertwin-probe/1":
        raise DocumentError(
            f"{path} is no probe file: `supertwin probe --out FILE` writes them"
        )
    return document


def _progress(line: str) -> None:
    click.echo(line, err=True)


def _summary(loaded: Loaded) -> str:
    state = "loaded" if loaded.changed else "unchanged"
    return (
        f"{loaded.host}: {loaded.sockets} sockets, {loaded.cores} cores, "
        f"{loaded.threads} threads, {loaded.metrics} metrics, "
        f"{loaded.triples} triples ({state})"
    )
