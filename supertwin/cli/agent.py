"""`supertwin agent`: shows and checks PCP's agents, and manages exporters."""

from typing import Any

import click

from core.settings import audit
from core.settings.settings import Settings
from core.stores.datasets import dataset
from core.stores.results import Table
from ontology.iris import Iris
from queries.catalogue import saved_query
from queries.run import saved_rows
from sampling.agents import exporters
from sampling.agents.checking import check_agents
from sampling.agents.known import KNOWN
from sampling.plans import changes
from sampling.plans.store import check_host
from supertwin.cli.agent_script import script_group
from supertwin.cli.host import HOST_OPTION
from supertwin.cli.tables import FORMAT_OPTION, TABLES
from supertwin.cli.wording import counted

_AGENT = click.argument("agent", type=click.Choice(sorted(KNOWN)))


@click.group("agent")
def agent_group() -> None:
    """Show and check PCP's agents, which `supertwin sample add` starts."""


@agent_group.command("list")
@HOST_OPTION
@FORMAT_OPTION
def list_command(host: str | None, output: str) -> None:
    """List the agents, whether they run, and why some cannot."""
    settings = Settings()
    target = host or settings.host
    rows = _described(settings, target)
    if not rows:
        fix = f"supertwin agent check --host {target}"
        _progress(f"the agents of {target} have not been checked yet: run `{fix}`")
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(str(row["agent"]), []).append(row)
    cells = [_agent_row(name, of) for name, of in found.items()]
    columns = ["agent", "running", "modules", "usable", "reason", "title"]
    table = Table(columns, cells)
    click.echo(TABLES[output](table), nl=False)


def _agent_row(name: str, rows: list[dict[str, Any]]) -> list[Any]:
    reasons = {str(row["module"]): row["reason"] for row in rows}
    usable = [module for module, reason in reasons.items() if not reason]
    # A reason that all modules share is the agent's own.
    shared = set(reasons.values()) if not usable else {None}
    reason = shared.pop() if len(shared) == 1 else None
    running = bool(rows[0]["running"])
    title = KNOWN[name].title
    return [name, running, len(reasons), len(usable), reason, title]


@agent_group.command("describe")
@_AGENT
@HOST_OPTION
@FORMAT_OPTION
def describe_command(agent: str, host: str | None, output: str) -> None:
    """Show an agent's modules: metrics, rights, cost, and why some cannot run."""
    settings = Settings()
    target = host or settings.host
    with dataset(settings, "twin") as twin:
        check_host(target, twin, Iris(settings.base))
        text = saved_query("telemetry/agents").bind({"host": target, "agent": agent})
        rows = twin.select(text)
    click.echo(TABLES[output](rows), nl=False)


@agent_group.command("check")
@HOST_OPTION
@FORMAT_OPTION
def check_command(host: str | None, output: str) -> None:
    """Try which agents and modules can run on a host, and keep the result."""
    settings = Settings()
    target = host or settings.host
    with dataset(settings, "twin") as twin:
        check_host(target, twin, Iris(settings.base))
        found = check_agents(settings, target, twin, tries=True)
    rows = [
        [name, module, reason or of["reason"] or "can run"]
        for name, of in found.items()
        for module, reason in (of["modules"] or {name: of["reason"]}).items()
    ]
    click.echo(TABLES[output](Table(["agent", "module", "result"], rows)), nl=False)


@agent_group.command("resume")
@HOST_OPTION
def resume_command(host: str | None) -> None:
    """Start the agents of a host's plans again, for example after its reboot."""
    settings = Settings()
    target = host or settings.host
    agents = changes.resume_agents(settings, target, _progress)
    click.echo(f"{target} runs {', '.join(agents) or 'no agent'}")


@agent_group.group("exporter")
def exporter_group() -> None:
    """Add and remove exporters of Prometheus or OpenMetrics text."""


@exporter_group.command("add")
@click.argument("name")
@click.argument("url")
@HOST_OPTION
def exporter_add_command(name: str, url: str, host: str | None) -> None:
    """Add an exporter of a host; the host itself must be able to read the URL.

    If the host is this machine, the exporter is read once, and its metrics are printed.
    """
    settings = Settings()
    target = host or settings.host
    exporters.check_name(name)
    allowed = settings.exporters_from
    exporters.check_url(url, allowed)
    found = exporters.read_once(name, url) if target == settings.host else None
    with dataset(settings, "twin") as twin:
        iris = Iris(settings.base)
        check_host(target, twin, iris)
        exporters.add(target, name, url, allowed, twin, iris)
    _record(settings, "exporter.added", f"{target} {name}")
    click.echo(f"{name} is an exporter of {target}")
    for metric in found.metrics if found else ():
        click.echo(metric)
    for reason, lines in found.dropped.items() if found else ():
        _progress(f"left out: {counted(lines, 'line')} ({reason})")


@exporter_group.command("remove")
@click.argument("name")
@HOST_OPTION
def exporter_remove_command(name: str, host: str | None) -> None:
    """Remove an exporter that no plan samples."""
    settings = Settings()
    target = host or settings.host
    with dataset(settings, "twin") as twin:
        iris = Iris(settings.base)
        check_host(target, twin, iris)
        exporters.remove(target, name, twin, iris)
    _record(settings, "exporter.removed", f"{target} {name}")
    click.echo(f"{name} is removed from {target}")


agent_group.add_command(script_group)


def _described(settings: Settings, host: str) -> list[dict[str, Any]]:
    with dataset(settings, "twin") as twin:
        check_host(host, twin, Iris(settings.base))
        return [
            dict(row) for row in saved_rows(twin, "telemetry/agents", {"host": host})
        ]


def _record(settings: Settings, what: str, thing: str) -> None:
    audit.record(settings.home, audit.local_user(), what, thing)


def _progress(line: str) -> None:
    click.echo(line, err=True)
