"""`supertwin add`, `open`, `remove` and `diff`: local and remote hosts."""

import json
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

import click
from rdflib import Literal

from core.settings import audit
from core.settings.settings import Settings
from core.stores.datasets import dataset
from core.stores.results import TermRows
from ingest.add_host import NewHost, add_host
from ingest.history.changes import TwinChange
from ingest.host_history import HostComparison, compare, find_host
from ingest.loading import read_twin
from queries.catalogue import saved_query
from sampling.host_removal import remove
from sampling.monitoring import monitoring
from supertwin.cli.confirm import YES_OPTION, confirm_removal
from supertwin.cli.host import CONFIRM_OPTION, HOST
from supertwin.cli.summary import twin_line, web_address
from supertwin.cli.tables import as_table

_WIDEST = 44
_COLUMNS = ["what", "component", "property", "before", "after", "seen", "probe"]


@click.command("add")
@click.argument("address", metavar="ssh://[USER@]HOST[:PORT]|local")
@click.option("--alias", default="", help="Another name for the host.")
@click.option(
    "--host",
    type=HOST,
    default=None,
    help="Its name in the twin; default: the one in the address, or its own.",
)
@click.option(
    "--partition", default="", help="The set of hosts that it is meant to be like."
)
@click.option("--no-sudo", is_flag=True, help="Do not try sudo on that machine.")
@CONFIRM_OPTION
def add_command(
    address: str,
    alias: str,
    host: str | None,
    partition: str,
    no_sudo: bool,
    confirm: bool,
) -> None:
    """Probe a machine, load its twin and plan, and print the addresses of its pages.

    Repeating it is safe: the machine is probed again, under the same name. If the
    machine cannot be probed or described, nothing is stored.
    """
    settings = Settings()
    new = NewHost(address, alias, host or "", partition, not no_sudo, confirm)
    name = add_host(settings, monitoring(settings), new, _progress)
    audit.record(settings.home, audit.local_user(), "host.added", name)
    if known := read_twin(settings, name):
        click.echo(twin_line(known))
        for source, why in known.gaps.items():
            click.echo(f"  nothing from {source}: {why}")
    click.echo("\n".join(_pages(settings, name)))


@click.command("open")
@click.argument("name")
def open_command(name: str) -> None:
    """Find a host by its name, alias, IP address or the address it was added with."""
    settings = Settings()
    with dataset(settings, "twin") as twin:
        found = find_host(twin, name)
        probes = twin.select(saved_query("inventory/probes").bind({"host": found.host}))
    row = dict(zip(probes.columns, probes.rows[0], strict=True))
    click.echo(f"{found.host} ({found.by})")
    click.echo(f"IRI         {found.node}")
    click.echo(f"last probe  {row['probedAt'] or 'none is known'}")
    click.echo("\n".join(_pages(settings, found.host)))


@click.command("remove")
@click.argument("host")
@click.option("--history", is_flag=True, help="Delete its history, too.")
@YES_OPTION
def remove_command(host: str, history: bool, yes: bool) -> None:
    """Remove a host and its plans from the twin; its history stays by default."""
    settings = Settings()
    what = "twin, plans and history" if history else "twin and plans"
    confirm_removal(f"{what} of {host}", yes)
    remove(settings, host, history, _progress)
    audit.record(settings.home, audit.local_user(), "host.removed", host)
    click.echo(f"{host} is removed{', and its history' if history else ''}")
    if host == settings.host:
        _progress("this is the local host: the next `supertwin up` loads it again")


@click.command("diff")
@click.argument("host")
@click.argument("first", metavar="[T1", default="")
@click.argument("last", metavar="T2]", default="")
@click.option("--json", "as_json", is_flag=True, help="Print the changes as JSON.")
def diff_command(host: str, first: str, last: str, as_json: bool) -> None:
    """Show what changed on a host between two states, by default the last two.

    T1 and T2 are times such as 2026-11-21T08:00 (UTC), probes such as
    20261121T080000Z, or numbers of states as `supertwin query history/states` lists
    them; without T2 it is the state of today.
    """
    found = compare(Settings(), host, first, last)
    click.echo(_as_json(found) if as_json else _as_text(found), nl=False)


def _pages(settings: Settings, host: str) -> list[str]:
    quoted_host, root = quote(host, safe=""), web_address(settings)
    return [
        f"page        {root}/twin/{quoted_host}",
        f"monitor     {root}/dashboards/monitor?host={quoted_host}",
        f"inventory   {root}/dashboards/inventory?host={quoted_host}",
    ]


def _as_json(found: HostComparison) -> str:
    listed = {
        "host": found.host,
        "from": asdict(found.older),
        "to": asdict(found.newer),
        "changes": [asdict(change) for change in found.changes],
    }
    return json.dumps(listed, indent=2, ensure_ascii=False) + "\n"


def _as_text(found: HostComparison) -> str:
    older, newer = found.older, found.newer
    head = (
        f"{found.host} from state {older.number} ({older.at}) to state "
        f"{newer.number} ({newer.at})\n"
    )
    if older.number == newer.number:
        return f"{head}nothing was compared: it is one state\n"
    if not found.changes:
        return f"{head}nothing differs\n"
    return head + as_table(
        TermRows(_COLUMNS, [_row(change) for change in found.changes])
    )


def _row(change: TwinChange) -> list[Any]:
    cells = (
        change.what,
        change.name,
        change.property or change.kind,
        ", ".join(change.before),
        ", ".join(change.after),
        change.at,
        change.probe.rpartition("/")[2],
    )
    return [Literal(_short(cell)) for cell in cells]


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _progress(line: str) -> None:
    click.echo(line, err=True)
