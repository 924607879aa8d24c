"""The agents of a host's plans: each runs with what all plans need of it together."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from core.linux.signals import signals_as_interrupt
from core.settings.settings import Settings
from core.stores.datasets import Progress
from core.stores.endpoint import Endpoint
from ontology.iris import Iris
from ontology.terms import ST
from queries.run import saved_rows
from sampling.agents import scripts
from sampling.agents.checks import bpf_text
from sampling.agents.exporter_fetch import OWN
from sampling.agents.graph import only_agent, publish_running, read_graph, restore_graph
from sampling.agents.known import KNOWN, KnownAgent, agent_of
from sampling.agents.setup import AgentSetup, ModulesSetup, ScriptsSetup
from sampling.errors import AgentRefusedError

if TYPE_CHECKING:
    from ingest.schema.schema import Pcp

# Metrics of an agent that plans sample, each with its shortest period in ms.
Periods = Mapping[str, int]


@contextmanager
def agents_for(
    settings: Settings,
    host: str,
    metrics: Collection[str],
    period_ms: int,
    twin: Endpoint,
    progress: Progress,
) -> Iterator[None]:
    """Run the agents of a new plan's metrics in addition to those of all other plans.

    All or nothing: if the block fails, the agents run as before. Inside it, the graph
    has the metrics. Raises AgentRefusedError, with the reason, for a metric that an
    agent cannot give on the host.
    """
    new = dict.fromkeys(on_demand(metrics, host, twin, Iris(settings.base)), period_ms)
    with ExitStack() as stack:
        for agent in sorted({name.partition(".")[0] for name in new}):
            before = _planned(host, agent, twin)
            wanted = dict(before)
            for name, period in _of(agent, new).items():
                wanted[name] = min(period, before.get(name, period))
            setup = setup_of(KNOWN[agent], host, wanted, twin)
            stack.enter_context(
                _published(settings, host, agent, setup, twin, progress)
            )
        yield


def settle(
    settings: Settings,
    host: str,
    agents: Collection[str],
    twin: Endpoint,
    progress: Progress,
) -> None:
    """Run these agents as the remaining plans of a host need them, or end them."""
    for agent in agents:
        wanted = _planned(host, agent, twin)
        setup = setup_of(KNOWN[agent], host, wanted, twin) if wanted else None
        with _published(settings, host, agent, setup, twin, progress):
            pass


def resume(
    settings: Settings, host: str, twin: Endpoint, progress: Progress
) -> Collection[str]:
    """Run all agents of a host's plans again; return their names."""
    planned = {one.name for one in KNOWN.values() if _planned(host, one.name, twin)}
    settle(settings, host, sorted(planned | running(host, twin)), twin, progress)
    return sorted(planned)


def end(settings: Settings, host: str, twin: Endpoint, progress: Progress) -> None:
    """End all agents of a host that leaves the twin, regardless of its plans."""
    for agent in sorted(running(host, twin)):
        with _published(settings, host, agent, None, twin, progress):
            pass


def running(host: str, twin: Endpoint) -> set[str]:
    """The agents that run on a host for its plans."""
    rows = saved_rows(twin, "telemetry/agent-sockets", {"host": host})
    return {str(row["agent"]) for row in rows}


def on_demand(
    metrics: Collection[str], host: str, twin: Endpoint, iris: Iris
) -> list[str]:
    """The metrics among these that an agent gives on demand.

    Those that the host's own PMCD gives come from there. Raises AgentRefusedError for
    one of an agent that SuperTwin does not start.
    """
    found = [name for name in dict.fromkeys(metrics) if agent_of(name)]
    named = [name for name in found if not _is_exposed(name, host, twin, iris)]
    for name in named:
        agent = agent_of(name)
        if agent and not agent.runs:
            why = _reason(host, agent, twin) or (
                f"start it in the PMCD of {host}, and probe {host} again"
            )
            raise AgentRefusedError(
                f"{name} comes from PCP's agent {agent.name}, which SuperTwin does not "
                f"start: {why}"
            )
    return named


def foreseen(
    metrics: Collection[str], host: str, twin: Endpoint, iris: Iris
) -> dict[str, int | None]:
    """The metrics among these that an agent does not give yet, with their instances.

    None is an unknown number. Raises AgentRefusedError for an impossible metric.
    """
    wanted = on_demand(metrics, host, twin, iris)
    rows = saved_rows(twin, "why/metric-names", {"host": host}) if wanted else []
    known = {str(row["metric"]) for row in rows}
    found: dict[str, int | None] = {}
    for name in wanted:
        agent = agent_of(name)
        if agent and name not in known:
            setup_of(agent, host, {name: 1000}, twin)
            module = agent.module_of(name)
            found[name] = module.instances if module else None
    return found


def setup_of(
    agent: KnownAgent, host: str, wanted: Periods, twin: Endpoint
) -> AgentSetup:
    """The configuration for the metrics of plans; raises AgentRefusedError."""
    if agent.name == "bpftrace":
        text = scripts.configuration(host, wanted, twin)
        return ScriptsSetup(agent.name, text, [*wanted])
    if agent.name == "openmetrics":
        return ModulesSetup(agent.name, _exporters(host, wanted, twin), [*wanted])
    modules = {_module(agent, metric) for metric in wanted}
    return ModulesSetup(agent.name, bpf_text(sorted(modules)), [*wanted])


def _module(agent: KnownAgent, metric: str) -> str:
    if module := agent.module_of(metric):
        return module.name
    known = [name for one in agent.modules for name in agent.metrics_of(one)]
    near = get_close_matches(metric[:100], known, n=3)
    hint = f"did you mean {', '.join(near)}?" if near else f"see `{_DESCRIBE} bpf`"
    raise AgentRefusedError(f"{agent.name} has no metric {metric[:100]!r}: {hint}")


_DESCRIBE = "supertwin agent describe"


def _exporters(host: str, wanted: Periods, twin: Endpoint) -> str:
    """The exporters of metrics, each read at the shortest period of its plans."""
    rows = saved_rows(twin, "telemetry/agents", {"host": host, "agent": "openmetrics"})
    urls = {str(row["module"]): str(row["url"]) for row in rows if row["url"]}
    periods: dict[str, int] = {}
    for metric, period in wanted.items():
        _, name, *rest = metric.split(".", 2)
        if name != OWN and (name not in urls or not rest):
            raise AgentRefusedError(
                f"{host} has no exporter {name[:64]!r} for {metric[:100]}: add it with "
                f"`supertwin agent exporter add {name[:64]} URL`"
            )
        if name != OWN:
            periods[name] = min(period, periods.get(name, period))
    return "".join(
        f"{name} {ms} {urls[name]}\n" for name, ms in sorted(periods.items())
    )


def _of(agent: str, periods: Periods) -> dict[str, int]:
    return {name: ms for name, ms in periods.items() if name.startswith(f"{agent}.")}


def _planned(host: str, agent: str, twin: Endpoint) -> dict[str, int]:
    """The metrics of an agent that the plans of a host sample."""
    found: dict[str, int] = {}
    for row in saved_rows(twin, "telemetry/sampling", {"host": host}):
        name, period = str(row["samplerName"]), round(float(row["period"]) * 1000)
        if name.startswith(f"{agent}."):
            found[name] = min(period, found.get(name, period))
    return found


def _is_exposed(name: str, host: str, twin: Endpoint, iris: Iris) -> bool:
    """Whether a probe found the metric: then the host's own PMCD gives it."""
    graph, node, metric = iris.twin_graph(host), iris.host(host), iris.metric(name)
    return twin.ask(
        f"ASK {{ GRAPH <{graph}> {{ <{node}> <{ST.exposes}> <{metric}> }} }}"
    )


def _reason(host: str, agent: KnownAgent, twin: Endpoint) -> str:
    rows = saved_rows(twin, "telemetry/agents", {"host": host, "agent": agent.name})
    return next((str(row["reason"]) for row in rows if row["reason"]), "")


@contextmanager
def _published(
    settings: Settings,
    host: str,
    agent: str,
    setup: AgentSetup | None,
    twin: Endpoint,
    progress: Progress,
) -> Iterator[None]:
    """Set agent and graph; restore them if the block fails."""
    iris = Iris(settings.base)
    with _running(settings, host, agent, setup, twin, progress) as (socket, there):
        pcp = _read_facts(socket, agent) if setup else None
        graph = iris.agent_graph(host, agent)
        before = read_graph(graph, twin)
        publish_running(host, agent, pcp, there, twin, iris)
        try:
            yield
        except BaseException:
            restore_graph(graph, before, twin)
            raise


@contextmanager
def _running(
    settings: Settings,
    host: str,
    agent: str,
    setup: AgentSetup | None,
    twin: Endpoint,
    progress: Progress,
) -> Iterator[tuple[Path, str]]:
    """Run an agent; yields the socket of its PMCD here, and on the host."""
    # Imported late: plans without agents need nothing that starts a PMCD.
    from sampling.agents.local import running_locally
    from sampling.agents.remote import running_remotely

    with signals_as_interrupt():
        if host == settings.host:
            with running_locally(settings, agent, setup, progress) as socket:
                yield socket, str(socket)
        else:
            with running_remotely(
                settings, host, agent, setup, twin, progress
            ) as sockets:
                yield sockets


def _read_facts(socket: Path, agent: str) -> "Pcp":
    """All metrics of an agent, also those that no plan samples yet."""
    # Imported here because commands that start no agent should start fast.
    from core.linux import pmapi
    from ingest.schema.schema import Pcp
    from ingest.sources.pcp import read_pcp

    address = f"unix://{socket}"
    with pmapi.Context(address) as context:
        names = [one for one in context.names() if one.startswith(f"{agent}.")]
    return only_agent(Pcp.model_validate(read_pcp(address=address, names=names)), agent)
