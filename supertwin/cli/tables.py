"""Format rows as a table, CSV or JSON for `--format`."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import click

from core.stores.results import Table, TermRows
from ontology.figures import figures, one_line
from ontology.unit_symbols import unit_symbol
from supertwin.cli.wording import counted

_DIGITS = 6


def as_table(rows: TermRows | Table) -> str:
    """Format aligned columns, with a count at the end.

    Numbers have six significant digits, units are symbols, and a command is cut.
    """
    are_cut = [name == "command" for name in rows.columns]
    cells = [
        [_text(cell, is_cut) for cell, is_cut in zip(row, are_cut, strict=True)]
        for row in rows.values()
    ]
    widths = [
        max(map(len, column)) for column in zip(rows.columns, *cells, strict=True)
    ]
    lines = [_line(rows.columns, widths), _line(["-" * w for w in widths], widths)]
    lines += [_line(row, widths) for row in cells]
    return "\n".join([*lines, f"({counted(len(cells), 'row')})", ""])


def as_csv(rows: TermRows | Table) -> str:
    """Format as RFC 4180 with a header line."""
    out = io.StringIO()
    csv.writer(out).writerows([rows.columns, *map(list, rows.values())])
    return out.getvalue()


def as_json(rows: TermRows | Table) -> str:
    """Format as a list with one object per row; absent values are null."""
    return json.dumps(rows.records(), indent=2, ensure_ascii=False, default=str) + "\n"


def _text(cell: object, is_cut: bool) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float | Decimal):
        return figures(cell, _DIGITS)
    text = one_line(str(cell)) if is_cut else str(cell)
    return text if (symbol := unit_symbol(text)) is None else symbol


def _line(cells: Sequence[str], widths: list[int]) -> str:
    pairs = zip(cells, widths, strict=True)
    return "  ".join(cell.ljust(width) for cell, width in pairs).rstrip()


TABLES: Mapping[str, Callable[[TermRows | Table], str]] = {
    "table": as_table,
    "csv": as_csv,
    "json": as_json,
}
FORMAT_OPTION = click.option(
    "--format",
    "output",
    type=click.Choice([*TABLES]),
    default="table",
    help="How to print the answer.",
)
TEXT_OR_JSON_OPTION = click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the answer.",
)
