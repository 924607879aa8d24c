"""The twins of all hosts as they were at a time, as the difference from now.

Pure: rows in, difference out. The history has what a probe finds of a machine; plans,
catalogues, runs and the volatile facts of `diff.py` are not in it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rdflib import XSD, Literal, URIRef

from core.stores.results import TermRows
from ingest.entailed import with_entailed
from ingest.errors import NoSuchStateError
from ingest.history.changes import Fact, net_change
from ingest.history.states import moment
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import PROV, ST

_PREFIXES = f"PREFIX st: <{ST}> PREFIX prov: <{PROV}>"
# All states of all hosts, oldest first.
STATES = f"""{_PREFIXES} SELECT ?host ?number ?at ?until ?revises {{
  ?state st:stateNumber ?number ; prov:generatedAtTime ?at ;
    prov:specializationOf/st:hostname ?host .
  OPTIONAL {{ ?state prov:invalidatedAtTime ?until }}
  OPTIONAL {{ ?state prov:wasRevisionOf ?before }}
  BIND (BOUND(?before) AS ?revises)
}} ORDER BY ?number"""


@dataclass
class PastTwins:
    """What to do to the dataset of now: triples by graph, and graphs to hide."""

    added: dict[URIRef, Triples] = field(default_factory=dict)
    removed: dict[URIRef, Triples] = field(default_factory=dict)
    hidden: list[URIRef] = field(default_factory=list)


@dataclass(frozen=True)
class _State:
    number: int
    at: datetime
    until: datetime | None
    revises: bool


def deltas_since(at: datetime) -> str:
    """The SELECT of what the states after a time changed, and of removed hosts."""
    then = Literal(at.isoformat(), datatype=XSD.dateTime).n3()
    return f"""{_PREFIXES} SELECT ?host ?number ?way ?s ?p ?o {{
      ?state st:stateNumber ?number ; prov:specializationOf/st:hostname ?host .
      {{ VALUES (?link ?way) {{
          (st:removedGraph "removed") (st:addedGraph "added") }}
        ?state ?link ?graph ; prov:generatedAtTime ?start . FILTER (?start > {then}) }}
      UNION {{ BIND ("whole" AS ?way)
        ?state st:wholeGraph ?graph ; prov:invalidatedAtTime ?end .
        FILTER (?end > {then}) }}
      GRAPH ?graph {{ ?s ?p ?o }}
    }}"""


def past_twins(
    iris: Iris, at: datetime, states: TermRows, deltas: TermRows
) -> PastTwins:
    """The difference for a time, from the rows of both queries.

    Raises NoSuchStateError if the history of a host has a gap since then.
    """
    past = PastTwins()
    rows: dict[str, list[Sequence[Any]]] = defaultdict(list)
    for of, *row in deltas.rows:
        rows[str(of)].append(row)
    for host, seen in _by_host(states).items():
        if _exists(host, seen, at):
            _undo(past, iris, host, rows[host])
        else:
            graphs = (iris.twin_graph(host), iris.plans_graph(host))
            past.hidden += [*graphs, *map(iris.entailed_graph, graphs)]
    return past


def _by_host(states: TermRows) -> Mapping[str, list[_State]]:
    found: dict[str, list[_State]] = defaultdict(list)
    for host, number, start, end, revises in states.rows:
        until = moment(str(end)) if end else None
        state = _State(
            int(str(number)), moment(str(start)), until, str(revises) == "true"
        )
        found[str(host)].append(state)
    return found


def _exists(host: str, states: Sequence[_State], at: datetime) -> bool:
    """Whether a host was in the twin; raises NoSuchStateError if that is unknown."""
    before = [state for state in states if state.at <= at]
    if not before or (before[-1].until and before[-1].until <= at):
        return False
    for state in states[len(before) :]:
        if not state.revises:
            raise NoSuchStateError(
                f"the history of {host} before {state.at.isoformat()} is unknown, "
                "since it was lost or started again: ask for a later time"
            )
    return True


def _undo(
    past: PastTwins, iris: Iris, host: str, rows: Iterable[Sequence[Any]]
) -> None:
    """Take back what changed, starting from the copy of a host that was removed."""
    every = list(rows)
    net = net_change(row for row in every if str(row[1]) != "whole")
    whole = {(str(s), str(p), o) for _, way, s, p, o in every if str(way) == "whole"}
    graph = iris.twin_graph(host)
    past.added |= with_entailed({graph: _triples(net.added)}, iris)
    gone = net.removed | (whole - net.added)
    past.removed |= with_entailed({graph: _triples(gone)}, iris)


def _triples(facts: Iterable[Fact]) -> Triples:
    return Triples((URIRef(s), URIRef(p), o) for s, p, o in facts)
