"""`supertwin log`: who changed what, who was refused, and what was restarted."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

import click

from queries.results import Table
from supertwin import audit
from supertwin.cli.tables import FORMAT_OPTION, TABLES
from supertwin.setting_forms import hours_of
from supertwin.settings import Settings

_COLUMNS = ["time", "who", "what", "thing", "outcome", "count"]


@click.command("log")
@click.option(
    "--what", default="*", metavar="GLOB", help="Such as host.* or refused; else all."
)
@click.option("--who", default="", metavar="NAME", help="A part of the name.")
@click.option("--since", default="", metavar="AGE", help="2h, 7d, 4w or 1y; else all.")
@FORMAT_OPTION
def log_command(what: str, who: str, since: str, output: str) -> None:
    """Who changed what, who logged in or was refused, what was restarted and why.

    The oldest first. Times are UTC.
    """
    first = _first(since)
    rows = [
        [event.get(name, 1 if name == "count" else "") for name in _COLUMNS]
        for event in _found(what, who)
        if event["time"] >= first
    ]
    click.echo(TABLES[output](Table(_COLUMNS, rows)), nl=False)


def _found(what: str, who: str) -> Iterator[dict[str, Any]]:
    for event in audit.events(Settings().home):
        if fnmatchcase(event["what"], what) and who in event["who"]:
            yield event


def _first(since: str) -> str:
    """The time of an age, in the form of the trail; empty for the beginning."""
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
