"""The history of a host: every state of its twin, and the probes that saw it.

A state is stored as the triples that it removed and added compared with the state
before, in two small named graphs of the dataset `history`. A full copy for each probe
would need space proportional to probes times machine size. The newest state is the twin
itself, so older ones follow by undoing. The history is written before the twin is
replaced. If a crash happens in between, the next probe recognises the leftover state by
its digest and drops it.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rdflib import XSD, Literal, URIRef

from core.stores.endpoint import Endpoint
from core.stores.sparql_dataset import N_TRIPLES
from ingest.history.diff import GraphDiff, difference
from ingest.history.observation import probe_of_description, probe_of_twin
from ingest.history.update import HistoryEntry, insertion, new_state, unchanged_update
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import PROV, ST

if TYPE_CHECKING:
    from ingest.description import Description

_OPENING = GraphDiff(frozenset(), frozenset())


@dataclass(frozen=True)
class _Chain:
    """The newest state of a host, and the newest with one digest; 0 for none.

    `whole` is the number of a state with all of its triples kept, since its twin was
    removed. `since` is the time when the newest state was first seen.
    """

    last: int
    known: int
    new: int
    whole: int
    since: str


def archive(
    twin: Endpoint,
    history: Endpoint,
    iris: Iris,
    description: "Description",
    old_digest: str | None,
    old: bytes | None = None,
) -> None:
    """Record a probe in the history before its description replaces the stored twin.

    `old_digest` is the digest of the stored twin, None without one; `old` are its
    triples if the caller has read them. It is safe to call this again after a crash:
    the result is the same.
    """
    host = description.host
    chain = _chain(history, iris, host, old_digest or "", description.digest)
    seen = probe_of_description(description)
    if old_digest and not chain.known:
        # Its history was lost.
        chain = _open(twin, history, iris, host, old_digest, chain)
    base = chain.known or chain.whole
    if old_digest == description.digest or (not base and chain.new == chain.last > 0):
        number, delta = base or chain.last, _OPENING
    else:
        number = base
        delta = _delta(twin, history, iris, description, chain, old)
    if number and not delta:
        text = unchanged_update(
            iris, host, number, chain.last, seen, description.digest
        )
        history.update(text)
        return
    number = (base or chain.last) + 1
    entry = HistoryEntry(host, number, base, chain.last, delta, seen, chain.since)
    history.update(new_state(iris, entry, description.digest))


def keep_whole(twin: Endpoint, history: Endpoint, iris: Iris, host: str) -> None:
    """Keep all triples of a twin that is about to be removed, for later comparisons.

    Does nothing for a host without a recorded state.
    """
    chain = _chain(history, iris, host, "", "")
    if not chain.last:
        return
    graph = iris.state_graph(host, chain.last, "whole")
    history.put_graph(graph, twin.get_graph(iris.twin_graph(host)))
    state = iris.component(host, "state", str(chain.last))
    link = Triples()
    now = Literal(
        datetime.now(UTC).isoformat(timespec="seconds"), datatype=XSD.dateTime
    )
    link.link(state, {ST.wholeGraph: graph, PROV.invalidatedAtTime: now})
    history.update(insertion(iris, host, link))


def forget(history: Endpoint, iris: Iris, host: str) -> None:
    """Drop everything that the history holds of a host."""
    graph = iris.history_graph(host)
    found = history.select(
        f"""SELECT DISTINCT ?g {{ GRAPH ?g {{ ?s ?p ?o }}
        FILTER (?g = <{graph}> || STRSTARTS(STR(?g), "{graph}/")) }}"""
    ).rows
    if found:
        history.update(" ;\n".join(f"DROP SILENT GRAPH <{g}>" for (g,) in found))


def _chain(history: Endpoint, iris: Iris, host: str, old: str, new: str) -> _Chain:
    graph = iris.history_graph(host)
    patterns = {
        "last": "",
        "known": f"?state st:digest {Literal(old).n3()} .",
        "new": f"?state st:digest {Literal(new).n3()} .",
        "whole": "?state st:wholeGraph ?graph .",
    }
    # one subquery each: MAX fails on rows where its variable is unbound
    parts = "".join(
        f"{{ SELECT (MAX(?n) AS ?{name}) {{ GRAPH <{graph}> "
        f"{{ {pattern} ?state st:stateNumber ?n }} }} }}\n"
        for name, pattern in patterns.items()
    )
    row = history.select(
        f"""PREFIX st: <{ST}> PREFIX prov: <{PROV}>
        SELECT ?last ?known ?new ?whole ?since {{ {parts}
          OPTIONAL {{ GRAPH <{graph}> {{
            ?newest st:stateNumber ?last ; prov:generatedAtTime ?since }} }} }}"""
    ).rows[0]
    last, known, newest, whole = (int(str(cell or 0)) for cell in row[:-1])
    # A crash leaves one state too many; more mean that the twin was restored from a
    # copy.
    known = known if known >= last - 1 else 0
    return _Chain(last, known, newest, whole, str(row[-1] or ""))


def _open(
    twin: Endpoint,
    history: Endpoint,
    iris: Iris,
    host: str,
    digest: str,
    chain: _Chain,
) -> _Chain:
    """Record the stored twin as a state without a predecessor."""
    seen = probe_of_twin(twin, iris, host)
    if seen is None:
        return chain
    number = chain.last + 1
    entry = HistoryEntry(host, number, 0, chain.last, _OPENING, seen, chain.since)
    history.update(new_state(iris, entry, digest))
    return _Chain(entry.number, entry.number, chain.new, 0, str(seen.at))


def _delta(
    twin: Endpoint,
    history: Endpoint,
    iris: Iris,
    description: "Description",
    chain: _Chain,
    old: bytes | None,
) -> GraphDiff:
    host = description.host
    if chain.known:
        old = old or _lines(twin, iris.twin_graph(host))
    elif chain.whole:
        old = _lines(history, iris.state_graph(host, chain.whole, "whole"))
    else:
        return _OPENING
    return difference(old, description.twin, iris.host(host))


def _lines(dataset: Endpoint, graph: URIRef) -> bytes:
    text = f"CONSTRUCT {{ ?s ?p ?o }} {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}"
    return dataset.answer(text, N_TRIPLES)
