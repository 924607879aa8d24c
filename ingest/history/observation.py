"""A probe in the history: a PROV activity, and the tools that it used."""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdflib import RDFS, XSD, Graph, Literal, URIRef

from core.stores.endpoint import Endpoint
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import PROV, ST

if TYPE_CHECKING:
    from ingest.description import Description


@dataclass(frozen=True)
class ProbeRecord:
    """One probe: its node, times, and the names of the tools that answered."""

    host: URIRef
    probe: URIRef
    started: Literal
    at: Literal
    tools: tuple[str, ...]

    def facts(self, state: URIRef) -> Triples:
        """Describe the probe as an activity that saw a state.

        Most probes of a host use the same tools, so these are stored once, as a set.
        """
        facts = Triples()
        facts.node(
            self.probe,
            PROV.Activity,
            {
                PROV.startedAtTime: self.started,
                PROV.endedAtTime: self.at,
                PROV.wasAssociatedWith: self._toolset(),
                ST.saw: state,
            },
        )
        return Triples([*facts, *self._tools()])

    def _toolset(self) -> URIRef:
        name = hashlib.sha256(" ".join(self.tools).encode()).hexdigest()[:12]
        return URIRef(f"{self.host}/toolset/{name}")

    def _tools(self) -> Triples:
        facts = Triples()
        agents = [URIRef(f"{self.host}/tool/{tool}") for tool in self.tools]
        label = ", ".join(self.tools) or "no tool"
        facts.node(self._toolset(), ST.Toolset, {ST.holdsTool: agents}, label=label)
        for agent, tool in zip(agents, self.tools, strict=True):
            facts.node(agent, PROV.SoftwareAgent, {RDFS.label: tool})
        return facts


def probe_of_description(description: "Description") -> ProbeRecord:
    """The probe of a description, which always has one."""
    graph = description.probe.graph()
    return _probe_record(description.node, _probe(description.node, graph), graph)


def probe_of_twin(twin: Endpoint, iris: Iris, host: str) -> ProbeRecord | None:
    """The newest probe of a host's twin; None if the twin names none."""
    node = iris.host(host)
    found = twin.construct(
        f"""PREFIX st: <{ST}> PREFIX prov: <{PROV}>
        CONSTRUCT {{ <{node}> prov:wasGeneratedBy ?probe . ?s ?p ?o }}
        WHERE {{ GRAPH <{iris.twin_graph(host)}> {{ ?s ?p ?o .
          <{node}> prov:wasGeneratedBy ?probe . ?probe st:consulted? ?s }} }}"""
    )
    return _probe_record(node, _probe(node, found), found) if len(found) else None


def _probe(node: URIRef, graph: Graph) -> URIRef:
    return URIRef(str(graph.value(node, PROV.wasGeneratedBy)))


def _probe_record(node: URIRef, probe: URIRef, graph: Graph) -> ProbeRecord:
    names = (
        str(graph.value(source, ST.sourceName))
        for source in graph.subjects(ST.succeeded, Literal(True))
    )
    return ProbeRecord(
        node,
        probe,
        _time(graph, probe, PROV.startedAtTime),
        _time(graph, probe, PROV.endedAtTime),
        tuple(sorted(names)),
    )


def _time(graph: Graph, probe: URIRef, link: URIRef) -> Literal:
    return Literal(str(graph.value(probe, link)), datatype=XSD.dateTime)
