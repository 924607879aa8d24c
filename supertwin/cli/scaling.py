"""`supertwin scaling`: how a program scales over a series of observed runs."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from core.settings.settings import Settings
from core.stores.datasets import dataset
from observations.pop.fits import Fit, Interval
from observations.pop.scaling import ScaledRun, Series, read_series
from supertwin.cli.host import HOST
from supertwin.cli.tables import TEXT_OR_JSON_OPTION

_HEAD = (
    f"{'ranks':>5} {'threads':>7} {'seconds':>10} {'speedup':>8} {'parallel':>9} "
    f"{'computation':>12} {'global':>7}"
)


@click.command("scaling")
@click.argument("tag")
@click.option("--host", type=HOST, help="Host of the runs.  [default: this host]")
@click.option("--weak", is_flag=True, help="The work grows with the threads.")
@TEXT_OR_JSON_OPTION
def scaling_command(tag: str, host: str | None, weak: bool, output: str) -> None:
    """Compare the runs with a tag, which were observed with --pop.

    Shows parallel and global efficiency, and computation scaling, by the number of
    threads; and fits the laws of Amdahl and Gustafson, and the universal scalability
    law (USL), with 95 % intervals.
    """
    settings = Settings()
    with dataset(settings, "twin") as twin:
        found = read_series(twin, tag, host or settings.host, is_weak=weak)
    click.echo(json.dumps(_document(found)) if output == "json" else _text(found))


def _document(found: Series) -> dict[str, Any]:
    fits = [
        {
            "law": one.law.name,
            "formula": one.law.formula,
            "parameters": {n: asdict(p) for n, p in one.parameters.items()},
            "error": one.error,
            "reason": one.reason,
        }
        for one in found.fits
    ]
    kind = "weak" if found.is_weak else "strong"
    runs = [asdict(run) for run in found.runs]
    return {
        "tag": found.tag,
        "host": found.host,
        "kind": kind,
        "runs": runs,
        "fits": fits,
        "lacks": found.lacks,
    }


def _text(found: Series) -> str:
    return "\n".join([_HEAD, *map(_row, found.runs), *_counted(found), *_fits(found)])


def _row(run: ScaledRun) -> str:
    return (
        f"{run.ranks:5} {run.threads:7} {run.seconds:10.3f} {run.speedup:8.2f} "
        f"{run.efficiency:9.3f} {run.computation:12.3f} {run.whole:7.3f}"
    )


def _counted(found: Series) -> Iterator[str]:
    if found.lacks:
        yield f"no instruction, IPC and frequency scaling: {found.lacks}"
        return
    yield f"{'threads':>7} {'instructions':>13} {'IPC':>7} {'frequency':>10}"
    for run in found.runs:
        if one := run.counted:
            factors = f"{one.instructions:13.3f} {one.ipc:7.3f} {one.frequency:10.3f}"
            yield f"{run.threads:7} {factors}"


def _fits(found: Series) -> Iterator[str]:
    for one in found.fits:
        yield f"{one.law.name}, {one.law.formula}: {one.reason or _parameters(one)}"


def _parameters(one: Fit) -> str:
    listed = ", ".join(_parameter(name, p) for name, p in one.parameters.items())
    return f"{listed}; mean error {one.error:.1%}"


def _parameter(name: str, found: Interval) -> str:
    if found.reason:
        return f"{name} {found.value:.3g} ({found.reason})"
    return f"{name} {found.value:.3g} ({found.low:.3g} to {found.high:.3g})"
