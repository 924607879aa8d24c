"""The SPARQL updates of the history, each one transaction."""

from collections.abc import Iterable
from dataclasses import dataclass

from rdflib import XSD, Literal

from ingest.history.diff import GraphDiff
from ingest.history.observation import ProbeRecord
from ingest.history.states import moment
from ingest.triples import Triple, Triples
from ontology.iris import Iris
from ontology.terms import PROV, ST


@dataclass(frozen=True)
class HistoryEntry:
    """A state to be written; `base` is its predecessor, 0 for none.

    States between its base and `last` were left by a crash; the newest of them was
    first seen at `since`.
    """

    host: str
    number: int
    base: int
    last: int
    delta: GraphDiff
    seen: ProbeRecord
    since: str

    @property
    def before(self) -> int:
        """The state that this one ends; 0 for none."""
        return self.base or (self.last if self.last < self.number else 0)

    @property
    def ended(self) -> Literal:
        """When the previous state ended; never before it began (files may be old)."""
        late = self.since and moment(self.since) > moment(str(self.seen.at))
        return Literal(self.since, datatype=XSD.dateTime) if late else self.seen.at


def new_state(iris: Iris, entry: HistoryEntry, digest: str) -> str:
    """The update that drops what a crash left and adds the state and its probe."""
    facts = _state(iris, entry, digest)
    graphs = {iris.history_graph(entry.host): facts}
    for name, triples in (
        ("removed", entry.delta.removed),
        ("added", entry.delta.added),
    ):
        if triples:
            graphs[iris.state_graph(entry.host, entry.number, name)] = Triples(triples)
    blocks = "".join(f"GRAPH <{g}> {{\n{t.ntriples()}}}\n" for g, t in graphs.items())
    return f"{_cleared(iris, entry)}INSERT DATA {{\n{blocks}}}"


def first_state(iris: Iris, host: str, seen: ProbeRecord, digest: str) -> Triples:
    """The history graph of a host that has none yet."""
    nothing = GraphDiff(frozenset(), frozenset())
    return _state(iris, HistoryEntry(host, 1, 0, 0, nothing, seen, ""), digest)


def _cleared(iris: Iris, entry: HistoryEntry) -> str:
    """Drop states that were never current, and the recorded end of the previous one."""
    dropped = _dropped(iris, entry.host, range(entry.number, entry.last + 1))
    return dropped + (_reopened(iris, entry.host, entry.before) if entry.before else "")


def _dropped(iris: Iris, host: str, numbers: Iterable[int]) -> str:
    graph = iris.history_graph(host)
    statements = []
    for number in numbers:
        state = iris.component(host, "state", str(number))
        statements += [
            f"DROP SILENT GRAPH <{iris.state_graph(host, number, part)}> ;\n"
            for part in ("removed", "added", "whole")
        ]
        statements += [
            f"DELETE WHERE {{ GRAPH <{graph}> {{ <{state}> ?p ?o }} }} ;\n",
            f"DELETE WHERE {{ GRAPH <{graph}> {{ ?s ?p <{state}> }} }} ;\n",
        ]
    return "".join(statements)


def _reopened(iris: Iris, host: str, number: int) -> str:
    """Undo the end of a state, and drop the copy kept when its twin was removed."""
    graph = iris.history_graph(host)
    state = iris.component(host, "state", str(number))
    ends = (PROV.invalidatedAtTime, PROV.wasInvalidatedBy, ST.wholeGraph)
    return (
        f"DROP SILENT GRAPH <{iris.state_graph(host, number, 'whole')}> ;\n"
        + "".join(
            f"DELETE WHERE {{ GRAPH <{graph}> {{ <{state}> <{end}> ?o }} }} ;\n"
            for end in ends
        )
    )


def _state(iris: Iris, entry: HistoryEntry, digest: str) -> Triples:
    host, number, seen = entry.host, entry.number, entry.seen
    state = iris.component(host, "state", str(number))
    facts = _host(iris, host)
    graphs = {
        ST.removedGraph: ("removed", entry.delta.removed),
        ST.addedGraph: ("added", entry.delta.added),
    }
    facts.node(
        state,
        ST.TwinState,
        {
            ST.stateNumber: number,
            ST.digest: digest,
            PROV.specializationOf: iris.host(host),
            PROV.generatedAtTime: seen.at,
            PROV.wasGeneratedBy: seen.probe,
            PROV.wasRevisionOf: iris.component(host, "state", str(entry.base))
            if entry.base
            else None,
            **{
                link: iris.state_graph(host, number, part) if triples else None
                for link, (part, triples) in graphs.items()
            },
        },
    )
    facts += seen.facts(state)
    if entry.before:
        facts.link(
            iris.component(host, "state", str(entry.before)),
            {PROV.invalidatedAtTime: entry.ended, PROV.wasInvalidatedBy: seen.probe},
        )
    return facts


def unchanged_update(
    iris: Iris, host: str, number: int, last: int, seen: ProbeRecord, digest: str
) -> str:
    """The update for a probe that found the state unchanged.

    States after it, up to `last`, were left by a crash and are dropped. The digest also
    covers instances and plans, so one state may have several digests.
    """
    state = iris.component(host, "state", str(number))
    facts = _host(iris, host)
    facts.link(state, {ST.digest: digest})
    dropped = _dropped(iris, host, range(number + 1, last + 1))
    text = insertion(iris, host, [*facts, *seen.facts(state)])
    return dropped + _reopened(iris, host, number) + text


def _host(iris: Iris, host: str) -> Triples:
    facts = Triples()
    facts.link(iris.host(host), {ST.hostname: host})
    return facts


def insertion(iris: Iris, host: str, facts: Iterable[Triple]) -> str:
    """The update that adds facts to a host's history graph."""
    graph = iris.history_graph(host)
    return f"INSERT DATA {{ GRAPH <{graph}> {{\n{Triples(facts).ntriples()}}} }}"
