"""`supertwin virtual`: telemetry that is computed from other telemetry."""

import json
from collections.abc import Sequence
from functools import partial

import click

from core.settings import audit
from core.settings.settings import Settings
from core.stores.datasets import dataset
from core.stores.results import Table
from supertwin.cli.tables import FORMAT_OPTION, TABLES
from virtual_telemetry import definitions, dependencies
from virtual_telemetry.definitions import VirtualRequest
from virtual_telemetry.dependencies import VirtualTelemetry

_COLUMNS = ["name", "label", "unit", "host", "expression"]
_PROGRESS = partial(click.echo, err=True)


@click.group("virtual")
def virtual_group() -> None:
    """Define telemetry that is computed from other telemetry."""


@virtual_group.command("add")
@click.argument("name")
@click.option(
    "--expression", required=True, help="How it is computed; see docs/virtual-telemetry"
)
@click.option("--unit", default="", help="Unit of its values in QUDT, such as KiloW.")
@click.option("--label", default="", help="Title; default: NAME.")
def add_command(name: str, expression: str, unit: str, label: str) -> None:
    """Add virtual telemetry, or replace the one of this name."""
    request = VirtualRequest(expression, unit, label)
    settings = Settings()
    made, is_new = definitions.add(settings, name, request, _PROGRESS)
    _note(settings, "virtual.added" if is_new else "virtual.changed", name)
    click.echo(f"{'added' if is_new else 'replaced'} {made.iri}{_unit(made)}")


@virtual_group.command("list")
@FORMAT_OPTION
def list_command(output: str) -> None:
    """List all virtual telemetry."""
    with dataset(Settings(), "twin") as twin:
        found = [one.document() for one in definitions.every(twin)]
    rows = [[one[column] or None for column in _COLUMNS] for one in found]
    click.echo(TABLES[output](Table(_COLUMNS, rows)), nl=False)


@virtual_group.command("show")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def show_command(name: str, as_json: bool) -> None:
    """Show an expression, its unit, and the inputs that it has now."""
    with dataset(Settings(), "twin") as twin:
        found = definitions.find(twin, name)
        inputs = definitions.inputs(twin, found.iri)
        fault = dependencies.fault(found.tree, twin)
    document = {**found.document(), "fault": fault, "inputs": inputs}
    if as_json:
        click.echo(json.dumps(document, indent=2))
        return
    for key, value in (*found.document().items(), ("fault", fault)):
        click.echo(f"{key:<11}{value or '-'}")
    _show_inputs(inputs)


def _show_inputs(inputs: Sequence[str]) -> None:
    click.echo(f"inputs     {len(inputs)}")
    for iri in inputs:
        click.echo(f"  {iri}")


@virtual_group.command("remove")
@click.argument("name")
def remove_command(name: str) -> None:
    """Remove virtual telemetry that no other has as input."""
    settings = Settings()
    definitions.remove(settings, name, _PROGRESS)
    _note(settings, "virtual.removed", name)
    click.echo(f"removed {name}")


def _note(settings: Settings, what: str, name: str) -> None:
    audit.record(settings.home, audit.local_user(), what, name)


def _unit(made: VirtualTelemetry) -> str:
    return f" in unit:{made.unit.rpartition('/')[2]}" if made.unit else ", without unit"
