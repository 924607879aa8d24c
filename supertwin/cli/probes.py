"""`supertwin probes`: count and time functions and events while programs run."""

import json
from typing import Any

import click

from core.settings import audit, tools
from core.settings.settings import Settings
from core.stores.datasets import dataset
from core.stores.errors import EndpointError
from core.stores.results import Table
from ontology.iris import Iris
from sampler_bridge.sources.probes.trial import measured_rate
from sampling.probes import changes
from sampling.probes.cost import DEFAULT_PERCENT, check_cost, ns_per_call, predict
from sampling.probes.definition import (
    BY,
    DEFAULT_LIMIT,
    CodeProbe,
    parse_target,
    read_probes,
)
from sampling.probes.graph import publish
from supertwin.cli.parameters import FiniteNumber
from supertwin.cli.tables import FORMAT_OPTION, TABLES

_COLUMNS = ["name", "counts", "state", "target", "until"]
_MOST_LIMIT = 1_000_000_000
_NO_BRIDGE = "not attached: no bridge has seen it yet"


@click.group("probes")
def probes_group() -> None:
    """Count and time functions, USDT probes and tracepoints, by BPF.

    A probe works on running programs of this machine, which need no change. Its values
    are sampled like those of any metric: `supertwin.probe.calls` and others.
    """


@probes_group.command("add")
@click.argument("name")
@click.argument("target")
@click.option("--latency", is_flag=True, help="Also time the calls.")
@click.option(
    "--until",
    metavar="TARGET",
    help="Time until this USDT probe, tracepoint or function, in the same thread.",
)
@click.option(
    "--by", type=click.Choice([*BY]), help="Also count for each of these, apart."
)
@click.option(
    "--argument",
    metavar="N|FIELD",
    help="Count the values of integer argument N, from 1, or of a tracepoint's field.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1, max=_MOST_LIMIT),
    default=DEFAULT_LIMIT,
    show_default=True,
    help="Calls that a CPU times in 100 ms; more are counted, but not timed.",
)
@click.option(
    "--percent",
    type=FiniteNumber(min=0, min_open=True),
    default=DEFAULT_PERCENT,
    show_default=True,
    help="Share of one CPU that the probe may take; it is stopped beyond twice that.",
)
@click.option("--change", is_flag=True, help="Replace the probe of this name.")
@click.option("--yes", is_flag=True, help="Add it, whatever it costs.")
def add_command(
    name: str,
    target: str,
    latency: bool,
    until: str | None,
    by: str | None,
    argument: str | None,
    limit: int,
    percent: float,
    change: bool,
    yes: bool,
) -> None:
    """Add a probe to uprobe:/BINARY:FUNCTION, usdt:/BINARY:PROVIDER:PROBE or
    tracepoint:CATEGORY:EVENT.

    The target is checked against the binary, and its calls are counted for a second:
    a probe that would take more than --percent of a CPU is refused.
    """
    settings = Settings()
    end = parse_target(until) if until else None
    times = latency or end is not None
    most = 0.0 if yes else 2 * percent
    wanted = CodeProbe(
        name,
        parse_target(target),
        times,
        end,
        limit=limit,
        percent=most,
        by=by or "",
        argument=argument or "",
    )
    changes.check_name(settings.home, name, change)
    probe, warnings = changes.checked(wanted)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    enough = percent / 100 * 1e9 / ns_per_call(probe)
    cost = predict(probe, measured_rate(tools.PROBER, probe, enough))
    click.echo(f"{name}: {cost}", err=True)
    if not yes:
        check_cost(probe, cost, percent)
    changes.save(settings.home, probe, change)
    _publish(settings)
    _note(settings, "probe.changed" if change else "probe.added", name)
    click.echo(f"{name} counts {probe.counts} of {probe.begin}")


@probes_group.command("remove")
@click.argument("name")
def remove_command(name: str) -> None:
    """Remove a probe: nothing of it stays in the kernel; stored samples stay."""
    settings = Settings()
    changes.remove(settings.home, name)
    _publish(settings)
    _note(settings, "probe.removed", name)
    click.echo(f"{name} is removed")


@probes_group.command("list")
@FORMAT_OPTION
def list_command(output: str) -> None:
    """List the probes of this machine, and whether they are attached."""
    settings = Settings()
    path = changes.probes_file(settings.home)
    states = _states(settings)
    rows = [
        [
            probe.name,
            probe.counts,
            states.get(probe.name, _NO_BRIDGE),
            str(probe.begin),
            str(probe.end) if probe.end else None,
        ]
        for probe in read_probes(path).values()
    ]
    click.echo(TABLES[output](Table(_COLUMNS, rows)), nl=False)


def _states(settings: Settings) -> dict[str, Any]:
    try:
        text = (settings.home / "bridge" / "status.json").read_text("utf-8")
        document = json.loads(text)
    except (OSError, ValueError):
        return {}
    return {} if document.get("stopped") else dict(document.get("probes", {}))


def _publish(settings: Settings) -> None:
    """Put the probes into the graph; without a store, the next change does it."""
    probes = read_probes(changes.probes_file(settings.home)).values()
    try:
        with dataset(settings, "twin") as twin:
            publish(twin, Iris(settings.base), settings.host, probes)
    except EndpointError as error:
        click.echo(f"the graph does not know it yet: {error}", err=True)


def _note(settings: Settings, what: str, name: str) -> None:
    audit.record(settings.home, audit.local_user(), what, f"{settings.host} {name}")
