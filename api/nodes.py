"""What the graph says about one IRI, with limits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rdflib import Graph, URIRef
from rdflib.namespace import RDFS

from core.stores.fuseki import GraphStore, read_bindings
from core.stores.sparql_dataset import JSON_RESULTS
from ontology.iris import stated
from ontology.terms import ST
from queries.terms import iri_term, term

MAX_OWN = 20_000
MAX_INCOMING = 500
_INCOMING = "incoming"
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
    if sum(row["part"].value == _INCOMING for row in rows) > MAX_INCOMING:
        # So many links are rare: each property then has a limit of its own.
        each = [_incoming(iri, link) for link in INCOMING]
        answer = await store.answer(_description(iri, each), JSON_RESULTS)
        rows = read_bindings(answer.content)
    graph, counts = Graph(), dict[str, int]()
    for row in rows:
        part = row["part"].value
        counts[part] = counts.get(part, 0) + 1
        if counts[part] <= (MAX_OWN if part in ("own", "label") else MAX_INCOMING):
            graph.add((term(row["s"]), term(row["p"]), term(row["o"])))
    return Node(iri, graph, _cut(counts), answer.version)


def _description(iri: URIRef, incoming: Sequence[str]) -> str:
    node, label = iri_term(iri), iri_term(RDFS.label)
    own = (
        f'SELECT DISTINCT ("own" AS ?part) ({node} AS ?s) ?p ?o '
        f"{{ {stated(f'{node} ?p ?o')} }} LIMIT {MAX_OWN + 1}"
    )
    labels = (
        f'SELECT DISTINCT ("label" AS ?part) ?s ({label} AS ?p) ?o '
        f"{{ {stated(f'{node} ?link ?s')} {stated(f'?s {label} ?o', 'its')} }} "
        f"LIMIT {MAX_OWN + 1}"
    )
    parts = " UNION ".join(f"{{ {part} }}" for part in (own, labels, *incoming))
    return f"SELECT ?part ?s ?p ?o {{ {parts} }}"


def _all_incoming(iri: URIRef) -> str:
    """Return a part with the links of all properties, for which one limit is enough."""
    links, node = " ".join(map(iri_term, INCOMING)), iri_term(iri)
    return (
        f'SELECT ("{_INCOMING}" AS ?part) ?s ?p ({node} AS ?o) '
        f"{{ VALUES ?p {{ {links} }} ?s ?p {node} }} LIMIT {MAX_INCOMING + 1}"
    )


def _incoming(iri: URIRef, link: URIRef) -> str:
    property_, node = iri_term(link), iri_term(iri)
    return (
        f'SELECT ("{link}" AS ?part) ?s ({property_} AS ?p) ({node} AS ?o) '
        f"{{ ?s {property_} {node} }} LIMIT {MAX_INCOMING + 1}"
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
