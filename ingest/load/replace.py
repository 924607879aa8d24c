"""Replace the stored twin of a host with a new description.

Only a few of 25,000 triples differ. TDB2 copies each block of its six indexes that a
write touches and frees no space before a compaction. So only the difference is written,
provided that the twin is still the one used to compute it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdflib import Literal, URIRef

from core.stores.endpoint import Endpoint
from core.stores.sparql_dataset import N_TRIPLES
from ingest.describe.plan import MONITOR
from ingest.entailed import drop, in_both, with_entailed
from ingest.load.fast_load import graphs_of
from ingest.triples import Triples, insertion
from ontology.iris import Iris
from ontology.terms import PREFIXES, PROV

if TYPE_CHECKING:
    from ingest.description import Description

_IS_MONITOR = f"""{{ ?s st:planName {Literal(MONITOR).n3()} }}
  UNION {{ ?s st:sampledBy/st:planName {Literal(MONITOR).n3()} }}"""
_PREFIX = f"PREFIX st: <{PREFIXES['st']}>\n"
# If more than this part of a host differs, writing all of it is faster.
_MOST = 0.5

Lines = frozenset[str]


@dataclass(frozen=True)
class CurrentTwin:
    """What a probe of a host replaces, as N-Triples by graph; the twin comes first."""

    digest: str
    graphs: dict[URIRef, bytes]

    @property
    def twin(self) -> bytes:
        """The triples of the twin."""
        return next(iter(self.graphs.values()))


def _patterns(iris: Iris, host: str) -> dict[URIRef, str]:
    """Patterns of what a probe of a host replaces, by graph: all but other plans."""
    own, plans = iris.twin_graph(host), iris.plans_graph(host)
    within = {own: "", plans: f"GRAPH <{plans}> {{ {_IS_MONITOR} }}"}
    return {
        part: f"{limit} GRAPH <{part}> {{ ?s ?p ?o }}"
        for graph, limit in within.items()
        for part in (graph, iris.entailed_graph(graph))
    }


def read_current(twin: Endpoint, iris: Iris, host: str, digest: str) -> CurrentTwin:
    """Read the stored triples of a host; its twin has that digest."""
    graphs = {
        graph: twin.answer(
            f"{_PREFIX}CONSTRUCT {{ ?s ?p ?o }} {{ {pattern} }}", N_TRIPLES
        )
        for graph, pattern in _patterns(iris, host).items()
    }
    return CurrentTwin(digest, graphs)


def replace(
    description: "Description",
    twin: Endpoint,
    iris: Iris,
    adds: dict[URIRef, Triples],
    update_text: str,
    standing: CurrentTwin | None,
) -> None:
    """Make a description the twin of its host, in one transaction.

    `adds` are its additions to the catalogues, `update_text` is an update to run with
    it. Without `standing`, or if the stored twin has changed in the meantime, all is
    written.
    """
    update = _difference(description, iris, standing) if standing else None
    if update:
        added = f"{insertion(with_entailed(adds, iris))} ;\n" if adds else ""
        twin.update(update_text + added + update)
        if _is_current(description, twin, iris):
            return
        update_text = ""
    twin.update(update_text + _whole(description, iris, adds))


def _difference(
    description: "Description", iris: Iris, standing: CurrentTwin
) -> str | None:
    """The update that writes only the difference; None if too large or unsafe."""
    host, removed, added, size = description.host, "", "", 0
    new = with_entailed(graphs_of(description, iris), iris)
    for graph, before in standing.graphs.items():
        is_ = _lines(new.get(graph, Triples()).ntriples())
        was = _lines(before.decode())
        size += len(was - is_) + len(is_ - was)
        removed += _block(graph, was - is_)
        added += _block(graph, is_ - was)
    if size > _MOST * len(description) or "_:" in removed:
        return None
    condition = f"<{description.node}> st:digest {Literal(standing.digest).n3()}"
    return (
        f"{_PREFIX}DELETE {{ {removed} }} INSERT {{ {added} }}\n"
        f"WHERE {{ GRAPH <{iris.twin_graph(host)}> {{ {condition} }} }}"
    )


def _lines(text: str) -> Lines:
    return frozenset(line for line in text.split("\n") if line)


def _block(graph: URIRef, lines: Lines) -> str:
    body = "\n".join(sorted(lines))
    return f"GRAPH <{graph}> {{\n{body}\n}}\n" if lines else ""


def _is_current(description: "Description", twin: Endpoint, iris: Iris) -> bool:
    """Whether the stored host is exactly what this probe described.

    It is not if another process wrote it in the meantime, or if the reading of the old
    twin was cut short.
    """
    new = with_entailed(graphs_of(description, iris), iris)
    patterns = _patterns(iris, description.host)
    probe = next(o for _, p, o in description.probe if p == PROV.wasGeneratedBy)
    counts = "".join(
        f"{{ SELECT (COUNT(*) AS ?size{number}) {{ {pattern} }} }}\n"
        for number, pattern in enumerate(patterns.values())
    )
    rows = twin.select(
        f"""{_PREFIX}SELECT * {{ {counts}
          FILTER EXISTS {{ GRAPH <{iris.twin_graph(description.host)}> {{
            <{description.node}> <{PROV.wasGeneratedBy}> <{probe}> }} }} }}"""
    ).values()
    return rows == [[len(set(new.get(graph, ()))) for graph in patterns]]


def _whole(description: "Description", iris: Iris, adds: dict[URIRef, Triples]) -> str:
    """The update that drops the host and its monitor plan and writes both again.

    Other plans of the host stay.
    """
    host = description.host
    plans = iris.plans_graph(host)
    return (
        f"{_PREFIX}{drop(iris, iris.twin_graph(host))} ;\n"
        f"DELETE {{ GRAPH ?graph {{ ?s ?p ?o }} }} WHERE {{\n"
        f"GRAPH <{plans}> {{ {_IS_MONITOR} }} {in_both(iris, plans, '?s ?p ?o')} }} ;\n"
        f"{insertion(with_entailed(graphs_of(description, iris) | adds, iris))}"
    )
