"""Probes of code as nodes of the graph."""

from collections.abc import Iterable

from rdflib import URIRef

from core.stores.endpoint import Endpoint
from ingest.entailed import drop, with_entailed
from ingest.triples import Triples, insertion
from ontology.iris import Iris
from ontology.terms import ST
from sampling.probes.definition import CodeProbe


def publish(twin: Endpoint, iris: Iris, host: str, probes: Iterable[CodeProbe]) -> None:
    """Replace the probes of a host in the graph by these."""
    graph, triples = iris.probes_graph(host), Triples()
    for probe in probes:
        _describe(triples, iris, host, probe)
    update = drop(iris, graph)
    if triples:
        update += f" ;\n{insertion(with_entailed({graph: triples}, iris))}"
    twin.update(update)


def probe_iri(iris: Iris, host: str, name: str) -> URIRef:
    """``code-probe/{name}`` below the host."""
    return iris.component(host, "code-probe", name)


def _describe(triples: Triples, iris: Iris, host: str, probe: CodeProbe) -> None:
    triples.node(
        probe_iri(iris, host, probe.name),
        ST.CodeProbe,
        {
            ST.isPartOf: iris.host(host),
            ST.codeProbeName: probe.name,
            ST.probeTarget: str(probe.begin),
            ST.probeEnd: str(probe.end or ""),
            ST.probeCounts: probe.counts,
            ST.probeBy: probe.by,
            ST.probeArgument: probe.argument,
            ST.probedBinary: probe.begin.binary,
            ST.probedBuildId: probe.build_id,
        },
        label=probe.name,
    )
