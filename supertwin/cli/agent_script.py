"""`supertwin agent script`: bpftrace scripts whose maps are sampled."""

from typing import TextIO

import click

from core.settings import audit
from core.settings.settings import Settings
from core.stores.datasets import dataset
from ontology.iris import Iris
from sampling.agents import scripts
from sampling.plans.store import check_host
from supertwin.cli.host import HOST_OPTION


@click.group("script")
def script_group() -> None:
    """Add and remove bpftrace scripts."""


@script_group.command("add")
@click.argument("name")
@click.argument("file", required=False, type=click.File(encoding="utf-8"))
@click.option("--text", help="The script itself, instead of a file.")
@HOST_OPTION
def add_command(
    name: str, file: TextIO | None, text: str | None, host: str | None
) -> None:
    """Add a bpftrace script of a host, from FILE or by --text.

    A script of this machine is attached for a moment. Its metrics are printed.
    """
    if (file is None) == (text is None):
        raise click.UsageError("give either FILE or --text")
    script = file.read() if file else text or ""
    settings = Settings()
    target = host or settings.host
    scripts.metrics_of(name, script)
    if target == settings.host:
        scripts.try_once(name, script)
    with dataset(settings, "twin") as twin:
        iris = Iris(settings.base)
        check_host(target, twin, iris)
        metrics = scripts.add(target, name, script, twin, iris)
    _record(settings, "script.added", f"{target} {name}")
    click.echo(f"{name} is a script of {target}")
    for metric in metrics:
        click.echo(metric)


@script_group.command("remove")
@click.argument("name")
@HOST_OPTION
def remove_command(name: str, host: str | None) -> None:
    """Remove a script that no plan samples."""
    settings = Settings()
    target = host or settings.host
    with dataset(settings, "twin") as twin:
        iris = Iris(settings.base)
        check_host(target, twin, iris)
        scripts.remove(target, name, twin, iris)
    _record(settings, "script.removed", f"{target} {name}")
    click.echo(f"{name} is removed from {target}")


def _record(settings: Settings, what: str, thing: str) -> None:
    audit.record(settings.home, audit.local_user(), what, thing)
