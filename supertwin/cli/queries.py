"""`supertwin query`: every saved query is a command, its parameters are options."""

import csv
import io
import json
from collections.abc import Sequence
from difflib import get_close_matches

import click

from queries.binding import Param
from queries.catalogue import SavedQuery, load_catalogue
from queries.endpoint import Endpoint
from queries.results import Rows
from supertwin.access.accounts import fuseki_account
from supertwin.settings import Settings


class SavedQueries(click.Group):
    """The catalogue as a command group: `supertwin query cache/sharing --cpu 0`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(load_catalogue())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        query = load_catalogue().get(cmd_name)
        return _command(query) if query else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in load_catalogue():
            raise click.UsageError(_unknown(args[0]), ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=SavedQueries, subcommand_metavar="NAME [PARAMETERS]")
def query() -> None:
    """Run a saved query, against this host unless --host says otherwise."""


def _unknown(name: str) -> str:
    near = get_close_matches(name, load_catalogue(), cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"no saved query {name!r}{hint}"


def _command(saved: SavedQuery) -> click.Command:
    options: list[click.Parameter] = [_option(param) for param in saved.params.values()]
    options.append(
        click.Option(
            ["--format", "output"],
            type=click.Choice(["table", "csv", "json"]),
            default="table",
            help="How to print the answer.",
        )
    )

    def run(output: str, **values: str | None) -> None:
        given = {name: value for name, value in values.items() if value is not None}
        click.echo(_answer(saved, given, output), nl=False)

    return click.Command(
        saved.name,
        params=options,
        callback=run,
        help=f"{saved.title}\n\n{saved.description}",
        short_help=saved.title,
    )


def _option(param: Param) -> click.Option:
    default = "this host; '' for every host" if param.name == "host" else param.default
    about = param.description or ""
    if default is not None:
        about = f"{about}  [default: {default}]".strip()
    return click.Option(
        [f"--{param.name.replace('_', '-')}", param.name],
        metavar="|".join(map(str, param.enum)) or param.type.upper(),
        help=about,
    )


def _answer(saved: SavedQuery, given: dict[str, str], output: str) -> str:
    settings = Settings()
    asked: dict[str, str | None] = {**given}
    if "host" in saved.params:
        asked["host"] = given.get("host", settings.host) or None
    text = saved.bind(asked)
    url, account = f"{settings.fuseki}/{saved.dataset}", fuseki_account(settings)
    with Endpoint(url, timeout=settings.query_timeout, account=account) as endpoint:
        rows = endpoint.select(text)
    return {"table": as_table, "csv": as_csv, "json": as_json}[output](rows)


def as_table(rows: Rows) -> str:
    """Aligned columns, a count at the end."""
    cells = [[_text(cell) for cell in row] for row in rows.values()]
    widths = [
        max(map(len, column)) for column in zip(rows.columns, *cells, strict=True)
    ]
    lines = [_line(rows.columns, widths), _line(["-" * w for w in widths], widths)]
    lines += [_line(row, widths) for row in cells]
    noun = "row" if len(cells) == 1 else "rows"
    return "\n".join([*lines, f"({len(cells)} {noun})", ""])


def as_csv(rows: Rows) -> str:
    """RFC 4180 with a header line."""
    out = io.StringIO()
    csv.writer(out).writerows([rows.columns, *map(list, rows.values())])
    return out.getvalue()


def as_json(rows: Rows) -> str:
    """A list with one object a row; absent values are null."""
    return json.dumps(rows.records(), indent=2, ensure_ascii=False, default=str) + "\n"


def _text(cell: object) -> str:
    if cell is None:
        return ""
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


def _line(cells: Sequence[str], widths: list[int]) -> str:
    pairs = zip(cells, widths, strict=True)
    return "  ".join(cell.ljust(width) for cell, width in pairs).rstrip()
