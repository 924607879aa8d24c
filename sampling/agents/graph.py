"""The agents of hosts in the graph: what each could give, and what runs.

A graph of the host has all modules and exporters. What an agent gives while it runs is
in a graph of its own, because it changes with the plans.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rdflib import RDFS, URIRef

from core.stores.endpoint import Endpoint
from core.stores.sparql_dataset import N_TRIPLES
from ingest.describe.metrics import describe_instances, describe_metrics
from ingest.entailed import with_entailed
from ingest.load.catalogues import read_catalogues
from ingest.triples import Triples, insertion
from ontology.iris import Iris
from ontology.terms import ST
from sampling.agents.known import KNOWN, AgentModule, KnownAgent

if TYPE_CHECKING:
    from ingest.schema.schema import Pcp

# Why each agent cannot run, and each of its modules, as `checks.check_all` gives it.
Checks = Mapping[str, Mapping[str, Any]]


def read_graph(graph: URIRef, twin: Endpoint) -> str:
    """A named graph as N-Triples, for `restore_graph`."""
    every = f"CONSTRUCT {{ ?s ?p ?o }} {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}"
    return twin.answer(every, N_TRIPLES).decode()


def restore_graph(graph: URIRef, before: str, twin: Endpoint) -> None:
    """Set a named graph to what `read_graph` gave."""
    insert = f" ;\nINSERT DATA {{ GRAPH <{graph}> {{ {before} }} }}" if before else ""
    twin.update(f"DROP SILENT GRAPH <{graph}>{insert}")


def only_agent(pcp: "Pcp", agent: str) -> "Pcp":
    """PCP's facts, limited to those of one agent."""
    metrics = [one for one in pcp.metrics if one.name.startswith(f"{agent}.")]
    held = {metric.indom for metric in metrics}
    indoms = {name: entry for name, entry in pcp.indoms.items() if name in held}
    return pcp.model_copy(update={"metrics": metrics, "indoms": indoms})


def publish_checks(host: str, checks: Checks, twin: Endpoint, iris: Iris) -> None:
    """Replace the modules of a host's agents, and keep what users added."""
    triples = Triples()
    for name, agent in KNOWN.items():
        found = checks.get(name, {"reason": "", "modules": {}})
        for module in agent.modules or (_whole(agent),):
            why = found["modules"].get(module.name) or found["reason"]
            _describe_module(triples, iris, host, agent, module, why)
    graph = iris.agents_graph(host)
    is_given = f"?s <{ST.exporterUrl}>|<{ST.agentScript}> ?kept"
    twin.update(
        f"WITH <{graph}> DELETE {{ ?s ?p ?o }} "
        f"WHERE {{ ?s ?p ?o FILTER NOT EXISTS {{ {is_given} }} }} ;\n"
        + insertion({graph: triples})
    )


def _whole(agent: KnownAgent) -> AgentModule:
    """An agent without modules as one module; its metrics are all below its name."""
    return AgentModule(agent.name, agent.title, ("",), cost=agent.cost)


def _describe_module(
    triples: Triples,
    iris: Iris,
    host: str,
    agent: KnownAgent,
    module: AgentModule,
    reason: str,
) -> None:
    triples.node(
        module_iri(iris, host, agent.name, module.name),
        ST.AgentModule,
        {
            ST.ofHost: iris.host(host),
            ST.pmdaName: agent.name,
            ST.moduleName: module.name,
            RDFS.comment: module.title,
            ST.givesMetric: agent.metrics_of(module),
            ST.neededRights: agent.rights,
            ST.costNote: module.cost or agent.cost or None,
            ST.absenceReason: reason or None,
        },
    )


def publish_exporter(
    host: str, name: str, url: str, twin: Endpoint, iris: Iris
) -> None:
    """Describe an exporter of a host; a known one gets the new URL."""
    facts = {
        RDFS.comment: f"Exporter {name}",
        ST.givesMetric: [f"openmetrics.{name}."],
        ST.exporterUrl: url,
    }
    _publish_module(host, "openmetrics", name, facts, twin, iris)


def publish_script(
    host: str,
    name: str,
    text: str,
    metrics: Sequence[str],
    twin: Endpoint,
    iris: Iris,
) -> None:
    """Describe a bpftrace script of a host; a known one gets the new text."""
    facts = {
        RDFS.comment: f"Script {name}",
        ST.givesMetric: metrics,
        ST.agentScript: text,
    }
    _publish_module(host, "bpftrace", name, facts, twin, iris)


def _publish_module(
    host: str, agent: str, name: str, facts: dict[Any, Any], twin: Endpoint, iris: Iris
) -> None:
    triples, known = Triples(), KNOWN[agent]
    node = module_iri(iris, host, agent, name)
    about = {
        ST.ofHost: iris.host(host),
        ST.pmdaName: agent,
        ST.moduleName: name,
        ST.neededRights: known.rights,
        ST.costNote: known.cost,
    }
    triples.node(node, ST.AgentModule, {**about, **facts})
    graph = iris.agents_graph(host)
    twin.update(f"{_removal(graph, node)} ;\n{insertion({graph: triples})}")


def remove_module(host: str, agent: str, name: str, twin: Endpoint, iris: Iris) -> None:
    """Remove an exporter or a script of a host."""
    node = module_iri(iris, host, agent, name)
    twin.update(_removal(iris.agents_graph(host), node))


def module_iri(iris: Iris, host: str, agent: str, module: str) -> URIRef:
    """A module of an agent on a host."""
    return iris.component(host, "agent-module", f"{agent}.{module}")


def _removal(graph: URIRef, node: URIRef) -> str:
    return f"DELETE WHERE {{ GRAPH <{graph}> {{ <{node}> ?p ?o }} }}"


def publish_running(
    host: str, agent: str, pcp: "Pcp | None", socket: str, twin: Endpoint, iris: Iris
) -> None:
    """Replace the description of a running agent, in one transaction.

    ``pcp`` are the facts of its PMCD, None if it does not run; ``socket`` is that
    PMCD's Unix socket on the host.
    """
    graph = iris.agent_graph(host, agent)
    if pcp is None:
        twin.update(f"DROP SILENT GRAPH <{graph}>")
        return
    metrics, own, node = Triples(), Triples(), iris.host(host)
    known = describe_metrics(metrics, iris, pcp, read_catalogues(twin, iris).metrics)
    describe_instances(own, iris, host, pcp, {})
    pmda = own.node(
        iris.component(host, "pmda", agent),
        ST.Pmda,
        {ST.pmdaName: agent, ST.isPartOf: node, ST.agentSocket: socket},
        label=f"PMDA {agent}",
    )
    own.link(node, {ST.exposes: known.values(), ST.runsAgent: pmda})
    inserted = insertion(with_entailed({iris.metrics_graph: metrics, graph: own}, iris))
    twin.update(f"DROP SILENT GRAPH <{graph}> ;\n{inserted}")
