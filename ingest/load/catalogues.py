"""The contents of the store's shared catalogues, read once for many hosts.

Catalogues only grow, so comparing counts shows whether they did.
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rdflib import Graph, URIRef

from core.stores.endpoint import Endpoint
from ingest.describe.metrics import MetricSignature
from ingest.pmu.store import stored_models
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST
from shapes.certify import Held
from shapes.validate import ExternalNodes

if TYPE_CHECKING:
    from ingest.description import Description

_Counts = tuple[int, ...]


@dataclass(frozen=True)
class Catalogues:
    """The descriptor of each metric by PCP name, and the PMU models held in full.

    `nodes` are all nodes in the metrics' graph, every PMU model, and the events of the
    models that are not held in full.
    """

    metrics: dict[str, MetricSignature]
    models: frozenset[str]
    nodes: frozenset[URIRef]
    counts: _Counts

    def missing_triples(
        self, description: "Description", iris: Iris
    ) -> dict[URIRef, Triples]:
        """What a description adds, by graph; nodes from other hosts stay the same."""
        graphs = {iris.metrics_graph: description.metrics, **description.pmus}
        found = {
            graph: Triples(t for t in triples if t[0] not in self.nodes)
            for graph, triples in graphs.items()
        }
        return {graph: triples for graph, triples in found.items() if triples}


def read_catalogues(
    twin: Endpoint, iris: Iris, before: Catalogues | None = None
) -> Catalogues:
    """Read the catalogues; return `before` itself if they have not grown."""
    counts = _counts(twin, iris)
    if before and counts == before.counts:
        return before
    models = frozenset(stored_models(twin))
    return Catalogues(_metrics(twin, iris), models, _nodes(twin, iris, models), counts)


def external_nodes(
    description: "Description", twin: Endpoint, iris: Iris
) -> ExternalNodes:
    """The metrics that a description refers to and the store's catalogue holds."""
    read = partial(_held, description, twin, iris)
    return ExternalNodes(held_nodes(description), read)


def held_nodes(description: "Description") -> Held:
    """The nodes that a description refers to but does not describe, by class."""
    return {ST.Metric: description.held} if description.held else {}


def _held(description: "Description", twin: Endpoint, iris: Iris) -> Graph:
    every = twin.get_graph(iris.metrics_graph)
    metrics = Graph()
    for triple in every:
        if triple[0] in description.held:
            metrics.add(triple)
    return metrics


def _counts(twin: Endpoint, iris: Iris) -> _Counts:
    parts = {
        "metrics": f"GRAPH <{iris.metrics_graph}> {{ ?node a ?class }}",
        "models": "?node a st:PmuModel",
        "events": "?node a st:PmuEvent",
    }
    text = " ".join(
        f"{{ SELECT (COUNT(*) AS ?{name}) {{ {pattern} }} }}"
        for name, pattern in parts.items()
    )
    rows = twin.select(f"PREFIX st: <{ST}> SELECT * {{ {text} }}")
    return tuple(int(number) for number in rows.values()[0])


def _nodes(twin: Endpoint, iris: Iris, whole: frozenset[str]) -> frozenset[URIRef]:
    rows = twin.select(
        f"""PREFIX st: <{ST}> SELECT ?graph ?node ?name {{
          GRAPH ?graph {{ ?node a st:PmuModel ; st:pmuName ?name }}
          FILTER (?graph != <{iris.roles_graph}>) }}"""
    ).values()
    graphs = {graph for graph, _, name in rows if name not in whole}
    within = " ".join(f"<{graph}>" for graph in (iris.metrics_graph, *sorted(graphs)))
    others = twin.select(
        f"""SELECT DISTINCT ?node {{ VALUES ?graph {{ {within} }}
          GRAPH ?graph {{ ?node a ?class }} }}"""
    ).values()
    names = [*(node for _, node, _ in rows), *(node for (node,) in others)]
    return frozenset(map(URIRef, names))


def _metrics(twin: Endpoint, iris: Iris) -> dict[str, MetricSignature]:
    rows = twin.select(
        f"""PREFIX st: <{ST}>
        SELECT ?metric ?name ?type ?semantics ?units ?domain WHERE {{
          GRAPH <{iris.metrics_graph}> {{
            ?metric st:samplerName ?name ; st:valueType ?type ;
                    st:semantics ?semantics .
            OPTIONAL {{ ?metric st:pcpUnits ?units }}
            OPTIONAL {{ ?metric st:instanceDomain/st:domainId ?domain }}
          }}
        }}"""
    ).rows
    return {
        str(name): MetricSignature(
            str(type_),
            str(semantics).removeprefix(str(ST)).lower(),
            str(units or ""),
            str(domain) if domain else None,
        )
        for metric, name, type_, semantics, units, domain in rows
        if metric == iris.metric(str(name))
    }
