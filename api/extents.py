"""Documents of several nodes: a component with its parts, a run with its figures."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Query
from rdflib import Graph, URIRef

from api.nodes import MAX_OWN, Node
from core.stores.fuseki import GraphStore, read_bindings
from core.stores.sparql_dataset import JSON_RESULTS
from ontology.iris import stated
from ontology.terms import ST
from queries.terms import iri_term, term

MAX_DEPTH = 5
_OF_RUN = ("hasFigure", "hasSummary", "ranIn", "hasRegion", "hasRegionRecord")
# Ways from a run to the parts of its regions and of its loop analysis.
_OF_REGIONS = tuple(
    ("hasRegion", link) for link in ("hasFigure", "hasEventCount", "hasRegionTimes")
)
_OF_LOOPS = (
    ("hasLoopAnalysis",),
    ("hasLoopAnalysis", "hasHotFunction"),
    ("hasLoopAnalysis", "hasHotLoop"),
    ("hasLoopAnalysis", "hasHotLoop", "hasPortPressure"),
    ("hasProfile",),
    ("hasProfile", "hasProfiledBinary"),
    ("hasProfile", "hasProfiledFunction"),
)
_OF_BENCHMARK = ("hasResult",)
_KINDS = (ST.Socket, ST.Die, ST.Core, ST.HardwareThread, ST.Cache)

Depth = Annotated[
    int,
    Query(ge=0, le=MAX_DEPTH, description="Levels of parts to describe, too, as RDF"),
]
HostFrame = Annotated[
    Literal["", "host"],
    Query(
        description="`host`: sockets, cores, threads and caches within the host, as "
        "nested JSON-LD"
    ),
]
RunFrame = Annotated[
    Literal["", "run"],
    Query(
        description="`run`: figures, regions, summaries, surroundings and hot loops "
        "within the run, as nested JSON-LD"
    ),
]
BenchmarkFrame = Annotated[
    Literal["", "benchmark"],
    Query(description="`benchmark`: results within the benchmark, as nested JSON-LD"),
]


@dataclass(frozen=True)
class Frame:
    """A JSON-LD document in which the nodes that ``pattern`` finds are nested.

    In the pattern, ``?s`` is such a node, and ``{node}`` the outermost one. ``links``
    are properties, by their names in the context, whose values are nested; parts are
    always within the whole.
    """

    pattern: str
    links: tuple[str, ...] = ()


def _linked(links: Iterable[str], paths: Iterable[tuple[str, ...]] = ()) -> str:
    """Return the pattern of the nodes that links or paths of links lead to."""
    ways = [(name,) for name in links] + [*paths]
    texts = ("/".join(iri_term(ST[name]) for name in way) for way in ways)
    return f"{{node}} {'|'.join(f'({text})' for text in texts)} ?s"


FRAMES: Mapping[str, Frame] = {
    "host": Frame(
        f"VALUES ?kind {{ {' '.join(map(iri_term, _KINDS))} }} "
        f"?s {iri_term(ST.ofHost)} {{node}} ; a ?kind"
    ),
    "run": Frame(
        _linked(_OF_RUN, (*_OF_REGIONS, *_OF_LOOPS)),
        tuple(
            dict.fromkeys((*_OF_RUN, *(way[-1] for way in (*_OF_REGIONS, *_OF_LOOPS))))
        ),
    ),
    "benchmark": Frame(_linked(_OF_BENCHMARK), _OF_BENCHMARK),
}


async def describe_frame(store: GraphStore, iri: URIRef, frame: Frame) -> Node:
    """Return all triples of a node and of the nodes within it; raises EndpointError.

    At most MAX_OWN triples.
    """
    node = iri_term(iri)
    within = frame.pattern.replace("{node}", node)
    return await _described(
        store, iri, f"{{ BIND ({node} AS ?s) }} UNION {{ {within} }}"
    )


async def describe_parts(store: GraphStore, iri: URIRef, depth: int) -> Node:
    """Return all triples of the parts of a node, down to a depth of at least 1."""
    up, node = iri_term(ST.isPartOf), iri_term(iri)
    levels = ("/".join([up] * level) for level in range(1, depth + 1))
    pattern = " UNION ".join(f"{{ ?s {path} {node} }}" for path in levels)
    return await _described(store, iri, pattern)


async def _described(store: GraphStore, iri: URIRef, pattern: str) -> Node:
    query = (
        f"SELECT DISTINCT ?s ?p ?o {{ {pattern} {stated('?s ?p ?o')} }} "
        f"LIMIT {MAX_OWN + 1}"
    )
    answer = await store.answer(query, JSON_RESULTS)
    rows = read_bindings(answer.content)
    graph = Graph()
    for row in rows[:MAX_OWN]:
        graph.add((term(row["s"]), term(row["p"]), term(row["o"])))
    cut = [f"only {MAX_OWN} triples are shown"] if len(rows) > MAX_OWN else []
    return Node(iri, graph, cut, answer.version)
