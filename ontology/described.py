"""The terms of the ontology for readers: words, links and what follows from them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from rdflib import DCTERMS, OWL, RDF, RDFS, SKOS, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ontology.load import alignment_graph, ontology_graph
from ontology.terms import ONTOLOGY, PREFIXES, ST

# In the order of a page.
KINDS = {
    OWL.Class: "class",
    OWL.ObjectProperty: "object property",
    OWL.DatatypeProperty: "data property",
    OWL.NamedIndividual: "individual",
    OWL.AnnotationProperty: "annotation",
}
_TRAITS = {
    OWL.FunctionalProperty: "at most one value",
    OWL.TransitiveProperty: "transitive",
    OWL.AsymmetricProperty: "one way only",
    OWL.IrreflexiveProperty: "never of itself",
    OWL.SymmetricProperty: "both ways",
}
_FOREIGN = {
    **{prefix: namespace for prefix, namespace in PREFIXES.items() if prefix != "st"},
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn-system": "http://www.w3.org/ns/ssn/systems/",
    "ref": "https://brickschema.org/schema/Brick/ref#",
    "hpc": "https://hpc-fair.github.io/ontology#",
}
_ALIGNED = (
    (RDFS.subClassOf, "is a"),
    (RDFS.subPropertyOf, "is a"),
    (SKOS.closeMatch, "comes close to"),
)


@dataclass(frozen=True)
class Piece:
    """A stretch of text, with its IRI if it is a term."""

    text: str
    iri: str = ""

    @property
    def name(self) -> str:
        """The local name of one of our terms; empty for anything else."""
        return self.iri.removeprefix(str(ST)) if self.iri.startswith(str(ST)) else ""


Phrase = tuple[Piece, ...]


@dataclass(frozen=True)
class VocabularyTerm:
    """One class, property or individual of the ontology, with everything about it.

    ``rows`` are named lists of phrases, in reading order: subclasses, domain, unit.
    """

    iri: str
    name: str
    kind: str
    module: str
    label: str
    definition: str
    notes: tuple[str, ...]
    examples: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Phrase, ...]], ...]


@dataclass(frozen=True)
class Module:
    """One file of the ontology, by its stem."""

    name: str
    iri: str
    title: str
    about: str
    terms: tuple[VocabularyTerm, ...]


@cache
def modules() -> tuple[Module, ...]:
    """Every module with its terms, classes first."""
    terms = described(ontology_graph(), alignment_graph())
    return tuple(
        _module(ontology_graph(), iri, [each for each in terms if each.module == name])
        for iri, name in _module_names(ontology_graph())
    )


@cache
def alignments() -> tuple[Module, ...]:
    """The alignment modules; they define no terms."""
    graph = alignment_graph()
    return tuple(_module(graph, iri, []) for iri, _ in _module_names(graph))


def described(graph: Graph, alignment: Graph) -> list[VocabularyTerm]:
    """Each of our terms in a graph, by kind and name."""
    order = list(KINDS.values())
    found = [
        _term(graph, alignment, iri)
        for iri in set(graph.subjects(RDF.type))
        if isinstance(iri, URIRef) and iri.startswith(str(ST))
    ]
    return sorted(found, key=lambda term: (order.index(term.kind), term.name.lower()))


def _module_names(graph: Graph) -> list[tuple[URIRef, str]]:
    found = [str(iri) for iri in graph.subjects(RDF.type, OWL.Ontology)]
    named = [(URIRef(iri), iri.removeprefix(f"{ONTOLOGY}/")) for iri in found]
    # The core module, with hosts and their parts, comes first; the others by name.
    return sorted(named, key=lambda pair: (pair[1] != "core", pair[1]))


def _module(graph: Graph, iri: URIRef, terms: list[VocabularyTerm]) -> Module:
    name = str(iri).removeprefix(f"{ONTOLOGY}/")
    title = str(graph.value(iri, DCTERMS.title) or name).removeprefix("SuperTwin: ")
    about = str(graph.value(iri, DCTERMS.description) or "")
    return Module(name, str(iri), title[0].upper() + title[1:], about, tuple(terms))


def _term(graph: Graph, alignment: Graph, iri: URIRef) -> VocabularyTerm:
    kinds = set(graph[iri : RDF.type])
    return VocabularyTerm(
        iri=str(iri),
        name=iri.removeprefix(str(ST)),
        kind=next(
            (word for kind, word in KINDS.items() if kind in kinds), "annotation"
        ),
        module=str(graph.value(iri, RDFS.isDefinedBy) or "").removeprefix(
            f"{ONTOLOGY}/"
        ),
        label=str(graph.value(iri, RDFS.label) or ""),
        definition=str(graph.value(iri, SKOS.definition) or ""),
        notes=_texts(graph[iri : SKOS.scopeNote]),
        examples=_texts(graph[iri : SKOS.example]),
        rows=tuple(
            (name, values) for name, values in _rows(graph, alignment, iri) if values
        ),
    )


def _texts(values: Iterable[Node]) -> tuple[str, ...]:
    return tuple(sorted(str(value) for value in values))


def _rows(
    graph: Graph, alignment: Graph, iri: URIRef
) -> Iterator[tuple[str, tuple[Phrase, ...]]]:
    kinds = set(graph[iri : RDF.type])
    members = [kind for kind in kinds if str(kind).startswith(str(ST))]
    yield "Is a", _phrases(graph, members)
    yield "Subclass of", _phrases(graph, graph[iri : RDFS.subClassOf])
    yield "Subclasses", _phrases(graph, graph.subjects(RDFS.subClassOf, iri))
    yield "Members", _phrases(graph, graph.subjects(RDF.type, iri))
    yield "Subproperty of", _phrases(graph, graph[iri : RDFS.subPropertyOf])
    yield "Subproperties", _phrases(graph, graph.subjects(RDFS.subPropertyOf, iri))
    yield "Domain", _phrases(graph, graph[iri : RDFS.domain])
    yield "Range", _phrases(graph, graph[iri : RDFS.range])
    yield "Unit", _phrases(graph, graph[iri : ST.valueUnit])
    inverse = {*graph[iri : OWL.inverseOf], *graph.subjects(OWL.inverseOf, iri)}
    yield "Inverse", _phrases(graph, inverse)
    yield "Properties", _phrases(graph, _with_domain(graph, iri))
    traits = sorted(_TRAITS[kind] for kind in kinds if kind in _TRAITS)
    yield "Holds", ((Piece(", ".join(traits)),),) if traits else ()
    yield "Source", _phrases(graph, graph[iri : DCTERMS.source])
    yield "See also", _phrases(graph, graph[iri : RDFS.seeAlso])
    yield "Elsewhere", tuple(_elsewhere(graph, alignment, iri))


def _with_domain(graph: Graph, iri: URIRef) -> list[Node]:
    return [
        term
        for term, domain in graph.subject_objects(RDFS.domain)
        if iri in _alternatives(graph, domain)
    ]


def _alternatives(graph: Graph, node: Node) -> list[Node]:
    """The classes of a union, or the class itself."""
    union = graph.value(node, OWL.unionOf)
    return [node] if union is None else list(graph.items(union))


def _elsewhere(graph: Graph, alignment: Graph, iri: URIRef) -> Iterator[Phrase]:
    """How a term relates to foreign ones; it inherits from its superclasses."""
    above = list(graph.transitive_objects(iri, RDFS.subClassOf))
    for link, words in _ALIGNED:
        stating = [iri] if link == SKOS.closeMatch else above
        others = {other for each in stating for other in alignment[each:link]}
        for other in sorted(others, key=str):
            yield (Piece(f"{words} "), _piece(other))


def _phrases(graph: Graph, nodes: Iterable[Node]) -> tuple[Phrase, ...]:
    found = [_phrase(graph, node) for node in set(nodes)]
    return tuple(sorted(found, key=lambda one: "".join(each.text for each in one)))


def _phrase(graph: Graph, node: Node) -> Phrase:
    """A class or class expression in words; an IRI by its short name."""
    if not isinstance(node, BNode):
        return (_piece(node),)
    if graph.value(node, OWL.onProperty) is not None:
        return tuple(_restriction(graph, node))
    listed = graph.value(node, OWL.unionOf) or graph.value(node, OWL.oneOf)
    return tuple(_joined(graph, graph.items(listed) if listed else (), " or "))


def _restriction(graph: Graph, node: Node) -> Iterator[Piece]:
    yield _piece(graph.value(node, OWL.onProperty))
    for link, words in ((OWL.allValuesFrom, " only "), (OWL.someValuesFrom, " some ")):
        if (filler := graph.value(node, link)) is not None:
            yield Piece(words)
            yield from _phrase(graph, filler)
    for link, words in (
        (OWL.maxCardinality, "at most"),
        (OWL.minCardinality, "at least"),
        (OWL.cardinality, "exactly"),
    ):
        if (count := graph.value(node, link)) is not None:
            yield Piece(" never" if str(count) == "0" else f" {words} {count}")
    if (value := graph.value(node, OWL.hasValue)) is not None:
        yield Piece(" is ")
        yield _piece(value)


def _joined(graph: Graph, nodes: Iterable[Node], word: str) -> Iterator[Piece]:
    for number, node in enumerate(nodes):
        if number:
            yield Piece(word)
        yield from _phrase(graph, node)


def _piece(node: Node | None) -> Piece:
    if node is None or isinstance(node, Literal):
        return Piece(str(node or ""))
    iri = str(node)
    if iri.startswith(str(ST)):
        return Piece(iri.removeprefix(str(ST)), iri)
    for prefix, namespace in _FOREIGN.items():
        if iri.startswith(namespace):
            return Piece(f"{prefix}:{iri.removeprefix(namespace)}", iri)
    return Piece(iri, iri)
