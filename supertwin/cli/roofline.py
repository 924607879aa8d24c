"""`supertwin roofline`: the roofline model of a host, from its graph alone."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from benchmarks.drawing import svg
from benchmarks.exports import csv_table, png
from benchmarks.roofline import (
    ABOVE,
    REQUESTED,
    Peak,
    Point,
    Roof,
    Roofline,
    document,
)
from benchmarks.roofline_rows import read_roofline
from core.settings.settings import Settings
from core.stores.datasets import dataset
from supertwin.cli.host import HOST


@click.command("roofline")
@click.argument("host", required=False, type=HOST)
@click.option(
    "--threads", type=click.IntRange(min=1), help="Threads.  [default: the most]"
)
@click.option(
    "--precision",
    type=click.Choice(["double", "single"]),
    default="double",
    show_default=True,
    help="Precision of the peaks.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "csv", "svg", "png"]),
    default="text",
    show_default=True,
    help="Format of the answer.",
)
def roofline_command(
    host: str | None, threads: int | None, precision: str, form: str
) -> None:
    """Show the roofs of a host, and how near its runs are to them.

    Only the graph is read, so the host may be remote or switched off.
    """
    settings = Settings()
    with dataset(settings, "twin") as twin:
        model = read_roofline(twin, host or settings.host, threads, precision)
    if form == "png" and sys.stdout.isatty():
        raise click.UsageError("--format png writes to a file: add > FILE")
    click.echo(_WRITERS[form](model), nl=form in ("text", "json"))


def _text(model: Roofline) -> str:
    lines = [f"{model.host}, {model.counted} ({model.policy})"]
    lines += [
        f"{roof.level:6} {roof.bandwidth / 1e9:10.2f} GB/s   "
        f"ridge at {model.ridge(roof):.2f} FLOP/B{_measured(roof)}"
        for roof in model.roofs
    ]
    lines += [
        f"{peak.name:20} {peak.rate / 1e9:10.2f} GFLOP/s{_measured(peak)}"
        for peak in model.peaks
    ]
    lines += [line for point in model.points for line in _point(point)]
    return "\n".join([*lines, ABOVE] if model.is_exceeded else lines)


def _measured(one: Roof | Peak) -> str:
    """Say when a limit was measured, and what casts doubt on it."""
    return f"   {one.at}" + (f"  ({one.concern})" if one.concern else "")


def _point(point: Point) -> Iterator[str]:
    yield (
        f"{point.name[:40]:40} {point.rate / 1e9:10.3f} GFLOP/s at "
        f"{point.intensity:.3g} FLOP/B{_whose(point)}: {point.share:.0%} of its limit "
        f"({point.roof})   {point.at}"
    )
    for move in point.moves:
        yield f"    {move.direction}: {move.text}"


def _whose(point: Point) -> str:
    return " requested" if point.traffic == REQUESTED else ""


def _json(model: Roofline) -> str:
    return json.dumps(document(model), indent=2)


_WRITERS: dict[str, Any] = {
    "text": _text,
    "json": _json,
    "csv": csv_table,
    "svg": svg,
    "png": png,
}
