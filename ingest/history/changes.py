"""The changes between two states of a host, computed from the deltas between them.

Pure: rows in, changes out, so the command line and the API can each run the query. Only
net differences count: a link that went down and up again did not change.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rdflib import RDF, RDFS, URIRef

from core.stores.results import TermRows
from ingest.history.states import HostState
from ontology.iris import Iris
from ontology.terms import PREFIXES, PROV, ST
from queries.natural_order import natural

APPEARED, VANISHED, CHANGED = "appeared", "vanished", "changed"
# These follow from the other properties and would repeat the same change.
_SILENT = (RDF.type, RDFS.label)

Facts = dict[str, list[str]]
Fact = tuple[str, str, Any]


@dataclass(frozen=True)
class TwinChange:
    """One row: a component that appeared or vanished, or a changed property of another.

    `facts` are those of a component that appeared or vanished. `state` is the last
    state that touched the changed triples.
    """

    what: str
    component: str
    name: str
    kind: str
    property: str
    before: list[str]
    after: list[str]
    state: int
    at: str
    probe: str
    facts: Facts = field(default_factory=dict)


@dataclass
class NetChange:
    """The triples that differ between two states, and the last state to touch each."""

    removed: set[Fact] = field(default_factory=set)
    added: set[Fact] = field(default_factory=set)
    touched: dict[tuple[str, str], int] = field(default_factory=dict)

    def apply(
        self, number: int, removed: Iterable[Fact], added: Iterable[Fact]
    ) -> None:
        """Apply one state: a removed triple was added before, or present at first."""
        for fact in removed:
            self._move(fact, self.added, self.removed, number)
        for fact in added:
            self._move(fact, self.removed, self.added, number)

    def _move(
        self, fact: Fact, undone: set[Fact], done: set[Fact], number: int
    ) -> None:
        self.touched[fact[:2]] = number
        if fact in undone:
            undone.remove(fact)
        else:
            done.add(fact)


def deltas_query(iris: Iris, host: str, first: int, last: int) -> str:
    """The SELECT of the triples removed and added after `first`, up to `last`."""
    return f"""PREFIX st: <{ST}>
    SELECT ?number ?way ?s ?p ?o {{
      GRAPH <{iris.history_graph(host)}> {{
        VALUES (?link ?way) {{
          (st:removedGraph "removed") (st:addedGraph "added") }}
        ?state ?link ?graph ; st:stateNumber ?number .
        FILTER (?number > {first} && ?number <= {last})
      }}
      GRAPH ?graph {{ ?s ?p ?o }}
    }}"""


def changes(
    rows: TermRows, iris: Iris, host: str, states: Mapping[int, HostState]
) -> list[TwinChange]:
    """Turn the rows of `deltas_query` into changes, by component and property."""
    net = net_change(rows.rows)
    node = str(iris.host(host))
    by_component: dict[str, dict[str, tuple[list[Any], list[Any]]]] = defaultdict(
        lambda: defaultdict(lambda: ([], []))
    )
    for side, facts in enumerate((net.removed, net.added)):
        for subject, predicate, value in facts:
            by_component[subject][predicate][side].append(value)
    found = [
        change
        for subject, properties in by_component.items()
        for change in _of_component(subject, properties, net, node, states)
    ]
    return sorted(found, key=lambda c: (natural(c.name), c.property))


def net_change(rows: Iterable[Sequence[Any]]) -> NetChange:
    """Combine the rows of `deltas_query`: number, way, subject, predicate, value."""
    deltas: dict[int, tuple[list[Fact], list[Fact]]] = defaultdict(lambda: ([], []))
    for number, way, s, p, o in rows:
        side = 0 if str(way) == "removed" else 1
        deltas[int(str(number))][side].append((str(s), str(p), o))
    net = NetChange()
    for state in sorted(deltas):
        net.apply(state, *deltas[state])
    return net


def _of_component(
    subject: str,
    properties: Mapping[str, tuple[list[Any], list[Any]]],
    net: NetChange,
    node: str,
    states: Mapping[int, HostState],
) -> Iterable[TwinChange]:
    """Yield one row for a component that appeared or vanished, or one per property."""
    old, new = properties.get(str(RDF.type), ([], []))
    if bool(old) != bool(new):
        what, side = (VANISHED, 0) if old else (APPEARED, 1)
        facts = {
            short(p, node): _texts(values[side], node)
            for p, values in sorted(properties.items())
            if values[side] and URIRef(p) != RDF.type
        }
        kind = ", ".join(_texts(old or new, node))
        number = max(net.touched[subject, p] for p in properties)
        yield _change(what, subject, node, kind, "", ([], []), states[number], facts)
        return
    changed = [p for p in properties if URIRef(p) not in _SILENT]
    for p in changed or properties:
        sides = (_texts(properties[p][0], node), _texts(properties[p][1], node))
        state = states[net.touched[subject, p]]
        yield _change(CHANGED, subject, node, "", short(p, node), sides, state, {})


def _change(
    what: str,
    subject: str,
    node: str,
    kind: str,
    property_: str,
    sides: Sequence[list[str]],
    state: HostState,
    facts: Facts,
) -> TwinChange:
    return TwinChange(
        what=what,
        component=subject,
        name=short(subject, node),
        kind=kind,
        property=property_,
        before=sides[0],
        after=sides[1],
        state=state.number,
        at=state.at,
        probe=state.probe,
        facts=facts,
    )


def _texts(values: Iterable[Any], node: str) -> list[str]:
    texts = (
        short(str(value), node) if isinstance(value, URIRef) else _plain(value)
        for value in values
    )
    return sorted(texts, key=natural)


def _plain(value: Any) -> str:
    found = value.toPython()
    return str(found).lower() if isinstance(found, bool) else str(value)


def short(iri: str, node: str) -> str:
    """``memory/A1`` for a part of the host, ``host`` for itself, else a local name."""
    if iri == node:
        return "host"
    if iri.startswith(f"{node}/"):
        return iri.removeprefix(f"{node}/")
    for namespace in (str(ST), str(PROV), *PREFIXES.values()):
        if iri.startswith(namespace):
            return iri.removeprefix(namespace)
    return iri
