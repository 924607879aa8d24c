"""What the graph says about one IRI, with limits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rdflib import Graph, URIRef
from rdflib.namespace import RDFS
from rdflib.term import Node as Term

from core.stores.fuseki import GraphStore, Row, read_bindings
from core.stores.sparql_dataset import JSON_RESULTS
from ontology.iris import stated
from ontology.terms import ST
from queries.terms import iri_term, term

MAX_OWN = 20_000
MAX_INCOMING = 500
_OWN = ("own", "label")
INCOMING = (
    ST.isPartOf,
    ST.usesCache,
    ST.inNumaDomain,
    ST.ofComponent,
    ST.ofPmu,
    ST.umaskOf,
    ST.instanceDomain,
    ST.samples,
)


@dataclass
class Node:
    """The description of one IRI; ``cut`` says in words what was left out.

    ``version`` is that of the dataset, if all of it was read at once.
    """

    iri: URIRef
    graph: Graph
    cut: list[str] = field(default_factory=list)
    version: str = ""

    @property
    def known(self) -> bool:
        """Whether the graph says anything about the IRI itself."""
        return (self.iri, None, None) in self.graph


async def describe(store: GraphStore, iri: URIRef) -> Node:
    """Return all triples of an IRI, the labels of its neighbours, and links to it.

    At most MAX_OWN triples and MAX_INCOMING of each incoming property.
    """
    answer = await store.answer(_description(iri, [_all_incoming(iri)]), JSON_RESULTS)
    rows = read_bindings(answer.content)
    if sum("o" not in row for row in rows) > MAX_INCOMING:
        # So many links are rare: each property then has a limit of its own.
        each = [_incoming(iri, link) for link in INCOMING]
        answer = await store.answer(_description(iri, each), JSON_RESULTS)
        rows = read_bindings(answer.content)
    graph, counts = Graph(), dict[str, int]()
    for row in rows:
        part = _part(row)
        counts[part] = counts.get(part, 0) + 1
        if counts[part] <= (MAX_OWN if part in _OWN else MAX_INCOMING):
            graph.add(_triple(iri, row))
    return Node(iri, graph, _cut(counts), answer.version)


def _part(row: Row) -> str:
    """Return the part of the description by the column that is missing."""
    if "s" not in row:
        return "own"
    return "label" if "p" not in row else row["p"].value


def _triple(iri: URIRef, row: Row) -> tuple[Term, Term, Term]:
    known = {"s": iri, "p": RDFS.label, "o": iri}
    subject, link, value = (
        term(row[name]) if name in row else known[name] for name in "spo"
    )
    return subject, link, value


def _description(iri: URIRef, incoming: Sequence[str]) -> str:
    """Return a query with three kinds of rows, of which each lacks what is known."""
    node, label = iri_term(iri), iri_term(RDFS.label)
    own = stated(f"{node} ?p ?o")
    labels = f"{stated(f'{node} ?link ?s')} {stated(f'?s {label} ?o', 'its')}"
    parts = " UNION ".join(f"{{ {part} }}" for part in (*incoming, own, labels))
    # What is left out is labels first, and then triples of the node.
    most = 2 * (MAX_OWN + 1) + len(incoming) * (MAX_INCOMING + 1)
    return f"SELECT ?s ?p ?o {{ {parts} }} LIMIT {most}"


def _all_incoming(iri: URIRef) -> str:
    """Return a part with the links of all properties, for which one limit is enough."""
    links = " ".join(map(iri_term, INCOMING))
    pattern = f"VALUES ?p {{ {links} }} ?s ?p {iri_term(iri)}"
    return f"SELECT ?s ?p {{ {pattern} }} LIMIT {MAX_INCOMING + 1}"


def _incoming(iri: URIRef, link: URIRef) -> str:
    pattern = f"?s {iri_term(link)} {iri_term(iri)}"
    return (
        f"SELECT ?s ({iri_term(link)} AS ?p) {{ {pattern} }} LIMIT {MAX_INCOMING + 1}"
    )


def _cut(counts: dict[str, int]) -> list[str]:
    found = []
    if counts.get("own", 0) > MAX_OWN or counts.get("label", 0) > MAX_OWN:
        found.append(f"only {MAX_OWN} of its triples or labels are shown")
    found.extend(_cut_incoming(counts))
    return found


def _cut_incoming(counts: dict[str, int]) -> Iterable[str]:
    for link in INCOMING:
        if counts.get(str(link), 0) > MAX_INCOMING:
            name = str(link).rpartition("#")[2]
            yield f"only {MAX_INCOMING} incoming st:{name} links are shown"
