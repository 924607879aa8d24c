"""`supertwin probe` and `supertwin ingest`: facts of a machine, and its twin."""

import json
from pathlib import Path

import click

from core.errors import error_lines
from core.settings import audit
from core.settings.running import pmcd_address
from core.settings.settings import Settings
from ingest import machine_files as files
from ingest.bulk import load_folder
from ingest.host_name import check_host
from ingest.loading import load_document, read_twin
from ingest.probe import probe
from ingest.remote.probe import probe_copy
from ingest.remote_hosts import probe_remote_host
from ingest.schema.check import check_document
from sampling.monitoring import monitored, monitoring
from supertwin.cli.host import CONFIRM_OPTION, HOST
from supertwin.cli.out_file import hand_out
from supertwin.cli.parameters import NonEmptyPath
from supertwin.cli.summary import twin_line


@click.command("probe")
@click.argument("address", required=False)
@click.option("--out", type=NonEmptyPath(), help="Write the facts here.")
@click.option(
    "--collected",
    type=NonEmptyPath(),
    help="A file that `python3 ingest/remote/collect.py` wrote on another machine.",
)
@click.option(
    "--host", type=HOST, help="Name of that machine.  [default: its own host name]"
)
@click.option("--no-sudo", is_flag=True, help="Do not try sudo on that machine.")
def probe_command(
    address: str | None,
    out: Path | None,
    collected: Path | None,
    host: str | None,
    no_sudo: bool,
) -> None:
    """Collect the facts of a machine as JSON, without loading them.

    ADDRESS names another machine, such as ssh://me@node1; the default is this one.
    """
    settings = Settings()
    if address and collected:
        raise click.UsageError("give an address or --collected, not both")
    if host and not (address or collected):
        raise click.UsageError(
            "--host is for another machine: give its address or --collected"
        )
    if address:
        document = probe_remote_host(settings, address, host, _progress, not no_sudo)
    elif collected:
        document = probe_copy(collected, host, _progress)
    else:
        document = probe(check_host(settings.host), pmcd_address(settings), _progress)
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    hand_out(text, out, f"facts of {document['host']} written to {out}")


@click.command("ingest")
@click.option(
    "--probe",
    "probe_file",
    type=NonEmptyPath(),
    help="A file that `supertwin probe --out` wrote.",
)
@click.option("--hwloc", "hwloc_file", type=NonEmptyPath(), help="hwloc's XML.")
@click.option(
    "--supertwin-json",
    "original_file",
    type=NonEmptyPath(),
    help="A probe file of the original SuperTwin.",
)
@click.option(
    "--collected",
    "collected_file",
    type=NonEmptyPath(),
    help="A file that `python3 ingest/remote/collect.py` wrote on another machine.",
)
@click.option(
    "--host",
    type=HOST,
    help="Name of the machine in the file; this one's is SUPERTWIN_HOST.",
)
@click.option(
    "--bulk",
    type=NonEmptyPath(),
    help="A folder of such files, each of another machine.",
)
@CONFIRM_OPTION
@click.pass_context
def ingest_command(
    ctx: click.Context,
    probe_file: Path | None,
    hwloc_file: Path | None,
    original_file: Path | None,
    collected_file: Path | None,
    host: str | None,
    bulk: Path | None,
    confirm: bool,
) -> None:
    """Load the twin of a machine from a file, or probe this machine."""
    settings = Settings()
    every = (probe_file, hwloc_file, original_file, collected_file, bulk)
    given = [path for path in every if path]
    if len(given) > 1:
        raise click.UsageError(
            "give one of --probe, --hwloc, --supertwin-json, --collected and --bulk"
        )
    if bulk and host:
        raise click.UsageError("--host names one machine, but --bulk loads several")
    if bulk:
        outcome = load_folder(
            settings, monitored, bulk, error_lines, _progress, confirm
        )
        _note(settings, str(bulk), outcome.line())
        click.echo(outcome.line())
        ctx.exit(2 if outcome.refused else 0)
    if host and not given:
        raise click.UsageError("--host names the machine of a file: give a file")
    if hwloc_file and not host:
        raise click.UsageError("--hwloc needs --host NAME: the file names no machine")
    if hwloc_file:
        document = files.hwloc_file(hwloc_file, host or "")
    elif original_file:
        document = files.original_file(original_file, host)
    elif probe_file:
        document = files.probe_file(probe_file, host)
    elif collected_file:
        document = check_document(probe_copy(collected_file, host, _progress))
    else:
        host = check_host(settings.host)
        document = check_document(probe(host, pmcd_address(settings), _progress))
    for line in files.doubts(document):
        _progress(line)
    load_document(settings, monitoring(settings), document, _progress, confirm)
    _note(settings, document.host)
    if twin := read_twin(settings, document.host):
        click.echo(twin_line(twin))


def _note(settings: Settings, thing: str, outcome: str = "done") -> None:
    audit.record(settings.home, audit.local_user(), "host.added", thing, outcome)


def _progress(line: str) -> None:
    click.echo(line, err=True)
