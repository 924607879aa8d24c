"""`supertwin log`: changes, refusals and restarts, with their authors."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

import click

from core.settings import audit
from core.settings.setting_types import hours_of
from core.settings.settings import Settings
from core.stores.results import Table
from supertwin.cli.tables import FORMAT_OPTION, TABLES, as_csv

Event = Mapping[str, Any]

_COLUMNS = ["time", "who", "what", "thing", "outcome", "count"]
_LOOK_SECONDS = 0.25


@click.command("log")
@click.option(
    "--what",
    default="*",
    metavar="GLOB",
    help="Events such as host.* or refused; default: all.",
)
@click.option("--who", default="", metavar="NAME", help="Part of an author's name.")
@click.option("--since", default="", metavar="AGE", help="2h, 7d, 4w or 1y.")
@click.option(
    "--follow",
    "-f",
    is_flag=True,
    help="Print new events, one per line, until Ctrl-C; earlier ones only with "
    "--since.",
)
@FORMAT_OPTION
def log_command(what: str, who: str, since: str, follow: bool, output: str) -> None:
    """Show changes, logins, refusals and restarts, with their author or reason.

    Events are listed oldest first. Times are in UTC.
    """
    first = _first(since)

    def is_asked_for(event: Event) -> bool:
        wanted = fnmatchcase(event["what"], what) and who in event["who"]
        return wanted and event["time"] >= first

    if follow:
        _follow(is_asked_for, bool(since), _LINES[output])
        return
    rows = map(_row, filter(is_asked_for, audit.events(Settings().home)))
    click.echo(TABLES[output](Table(_COLUMNS, [*rows])), nl=False)


def _follow(
    is_asked_for: Callable[[Event], bool], earlier: bool, line: Callable[[Event], str]
) -> None:
    with (
        closing(audit.AuditTrail(Settings().home)) as trail,
        suppress(KeyboardInterrupt),
    ):
        if not earlier:
            _print(trail.news(), lambda _: False, line)
        while True:
            _print(trail.news(), is_asked_for, line)
            time.sleep(_LOOK_SECONDS)


def _print(
    events: Iterable[Event],
    is_asked_for: Callable[[Event], bool],
    line: Callable[[Event], str],
) -> None:
    for event in filter(is_asked_for, events):
        click.echo(line(event))


def _row(event: Event) -> list[Any]:
    return [event.get(name, 1 if name == "count" else "") for name in _COLUMNS]


def _csv_line(event: Event) -> str:
    return as_csv(Table(_COLUMNS, [_row(event)])).splitlines()[1]


_LINES: Mapping[str, Callable[[Event], str]] = {
    "table": lambda event: "  ".join(map(str, _row(event))),
    "csv": _csv_line,
    "json": lambda event: json.dumps(dict(zip(_COLUMNS, _row(event), strict=True))),
}


def _first(since: str) -> str:
    """The start time of an age, in the format of the log; empty without one."""
    hours = hours_of(since)
    if since and hours is None:
        raise click.UsageError(f"--since {since!r}: expected 2h, 7d, 4w or 1y")
    try:
        return (
            f"{datetime.now(UTC) - timedelta(hours=hours):%Y-%m-%dT%H:%M:%S}"
            if hours
            else ""
        )
    except OverflowError:
        return ""
