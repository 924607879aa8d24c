"""What the perfevent agent of a host counts for its plans, in a separate graph.

It is not part of the probe: the agent counts the events of plans and changes with them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdflib import Literal, URIRef

from core.stores.endpoint import Endpoint
from ingest.describe.metrics import describe_instances, describe_metrics
from ingest.entailed import with_entailed
from ingest.load.catalogues import read_catalogues
from ingest.triples import Triples, insertion
from ontology.iris import Iris
from ontology.terms import ST
from queries.catalogue import saved_query
from sampling.plans.instances import GraphMetric

if TYPE_CHECKING:
    from ingest.schema.schema import Pcp

# PCP's agent of PMU events, and the prefix of its metrics.
_AGENT = "perfevent"
COUNTERS = f"{_AGENT}."


@dataclass(frozen=True)
class CounterPurpose:
    """Why the metric of an event is sampled: roles, and the event if it was named.

    ``pmu`` and ``name`` are the event's own; ``is_kernel`` is set if the kernel names
    both.
    """

    pmu: str
    name: str
    is_kernel: bool = False
    roles: tuple[str, ...] = ()
    event: str = ""


def counted_among(
    host: str, names: Iterable[str], twin: Endpoint, iris: Iris
) -> list[str]:
    """The metrics among these that a host has only for the events of plans."""
    node, values = iris.host(host), " ".join(Literal(name).n3() for name in names)
    rows = twin.select(
        f"""SELECT ?name {{
          VALUES ?name {{ {values} }} ?metric <{ST.samplerName}> ?name .
          GRAPH <{iris.counters_graph(host)}> {{ <{node}> <{ST.exposes}> ?metric }}
          FILTER NOT EXISTS {{
            GRAPH <{iris.twin_graph(host)}> {{ <{node}> <{ST.exposes}> ?metric }} }}
        }} ORDER BY ?name"""
    )
    return [str(name) for (name,) in rows.values()]


def uncounted_metrics(
    names: Iterable[str], host: str, twin: Endpoint, iris: Iris
) -> list[GraphMetric]:
    """Metrics of events that are not counted yet, with an instance for each thread.

    An event that is counted once for a socket will have fewer.
    """
    threads = _threads(host, twin)
    return [
        GraphMetric(
            name,
            iris.metric(name),
            has_instances=True,
            at_fetch=False,
            instances=threads,
        )
        for name in names
    ]


def publish_counters(
    host: str, pcp: "Pcp | None", socket: str, twin: Endpoint, iris: Iris
) -> None:
    """Replace the description of a host's counters, in one transaction.

    `pcp` are the facts of the PMCD that gives them, None if nothing is counted;
    `socket` is its Unix socket on that host.
    """
    graph = iris.counters_graph(host)
    if pcp is None:
        twin.update(f"DROP SILENT GRAPH <{graph}>")
        return
    metrics, own, node = Triples(), Triples(), iris.host(host)
    catalogue = read_catalogues(twin, iris).metrics
    known = describe_metrics(metrics, iris, pcp, catalogue)
    describe_instances(own, iris, host, pcp, _threads(host, twin))
    own.link(node, {ST.exposes: known.values(), ST.perfeventSocket: socket})
    graphs = {iris.metrics_graph: metrics, graph: own}
    inserted = insertion(with_entailed(graphs, iris))
    twin.update(f"DROP SILENT GRAPH <{graph}> ;\n{inserted}")


def _threads(host: str, twin: Endpoint) -> Mapping[str, URIRef]:
    """Every thread of a host, by PCP's name for it."""
    text = saved_query("topology/threads").bind({"host": host, "all": "true"})
    rows = twin.select(text)
    cpu, thread = rows.columns.index("cpu"), rows.columns.index("thread")
    return {f"cpu{row[cpu]}": URIRef(str(row[thread])) for row in rows.values()}
