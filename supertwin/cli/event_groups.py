"""`supertwin catalogue groups`: performance groups of likwid as figures of runs."""

from collections.abc import Iterator
from pathlib import Path

import click

from core.errors import SuperTwinError
from core.settings import audit
from core.settings.settings import Settings
from core.stores.datasets import dataset
from core.stores.results import Table
from observations.errors import RefusedGroupError
from observations.groups import store
from observations.groups.figures import EventGroup, derive_group
from observations.groups.likwid import group_files, read_group
from ontology.iris import Iris
from queries.run import saved_rows
from supertwin.cli.parameters import TEXT
from supertwin.cli.tables import FORMAT_OPTION, TABLES

_COLUMNS = ["pmu", "group", "title", "figures", "source"]


@click.group("groups")
def groups_group() -> None:
    """Import likwid's performance groups as roles and figures."""


@groups_group.command("add")
@click.argument("groups", metavar="GROUP...", nargs=-1, required=True, type=TEXT)
@click.option(
    "--pmu",
    default="",
    help="PMU of the processor, such as skx; default: the folder's.",
)
@click.option("--check", is_flag=True, help="Store nothing.")
def add_command(groups: tuple[str, ...], pmu: str, check: bool) -> None:
    """Import groups: files, folders, or names such as skylakeX/FLOPS_DP.

    A metric whose events are not counted is left out and named with the reason. An
    imported group of the same name is replaced.
    """
    files = [file for word in groups for file in group_files(word)]
    found = [*_derived(files, pmu)]
    for one in found:
        click.echo("\n".join(_summary(one)))
    if not found:
        raise RefusedGroupError(f"none of these {len(files)} groups was imported")
    if not check:
        _store(found)


def _derived(files: list[Path], pmu: str) -> Iterator[EventGroup]:
    """Yield the groups of files; of several files, report those that are refused."""
    for file in files:
        try:
            yield derive_group(read_group(file, pmu))
        except SuperTwinError as error:
            if len(files) == 1:
                raise
            click.echo(f"{file}: not imported: {error} [{error.code}]", err=True)


def _store(found: list[EventGroup]) -> None:
    settings = Settings()
    with dataset(settings, "twin") as twin:
        for one in found:
            store.import_group(twin, Iris(settings.base), one)
            _note(settings, "event-group.imported", _name(one))


def _summary(one: EventGroup) -> Iterator[str]:
    metrics = f"{len(one.figures)} of {len(one.group.metrics)} metrics"
    yield f"{_name(one)}: {metrics}, new roles: {len(one.roles)}"
    yield from (f"  {figure.name}" for figure in one.figures)
    yield from (f"  without {name}: {why}" for name, why in one.omitted.items())


def _name(one: EventGroup) -> str:
    return f"{one.group.model}/{one.group.name}"


@groups_group.command("list")
@FORMAT_OPTION
def list_command(output: str) -> None:
    """List the imported groups."""
    with dataset(Settings(), "twin") as twin:
        found = saved_rows(twin, store.QUERY, {})
    rows = [[one[column] for column in _COLUMNS] for one in found]
    click.echo(TABLES[output](Table(_COLUMNS, rows)), nl=False)


@groups_group.command("remove")
@click.argument("name", metavar="PMU/GROUP")
def remove_command(name: str) -> None:
    """Remove an imported group; figures of recorded runs stay."""
    settings = Settings()
    with dataset(settings, "twin") as twin:
        store.remove_group(twin, Iris(settings.base), name)
    _note(settings, "event-group.removed", name)
    click.echo(f"removed {name}")


def _note(settings: Settings, what: str, name: str) -> None:
    audit.record(settings.home, audit.local_user(), what, name)
