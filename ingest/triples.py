"""Triples as plain lists: collected, counted, hashed and written as N-Triples.

rdflib's Graph indexes every triple three times; a description only needs that once,
for its validation, so it is collected here and turned into a Graph there.
"""

import hashlib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import lru_cache

from rdflib import RDF, RDFS, Graph, Literal, URIRef

from ontology.texts import writable

Value = URIRef | Literal | str | int | float | bool | None
Triple = tuple[URIRef, URIRef, URIRef | Literal]

_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
)


class Triples(list[Triple]):
    """Triples of one named graph, in the order in which they were described."""

    def node(
        self,
        iri: URIRef,
        kind: URIRef,
        properties: Mapping[URIRef, Value | Iterable[Value]],
        label: str | None = None,
    ) -> URIRef:
        """Describe one node; None and empty texts are left out."""
        self.append((iri, RDF.type, kind))
        self.link(iri, {RDFS.label: label, **properties})
        return iri

    def link(
        self, iri: URIRef, properties: Mapping[URIRef, Value | Iterable[Value]]
    ) -> None:
        """Add properties to a node; None and empty texts are left out."""
        for predicate, values in properties.items():
            for value in _each(values):
                if value is not None and value != "":
                    self.append((iri, predicate, term(value)))

    def graph(self) -> Graph:
        """The same triples as an rdflib Graph."""
        return union([self])

    def ntriples(self) -> str:
        """The same triples as N-Triples, one a line."""
        return "".join(f"{_n3(s)} {_n3(p)} {_n3(o)} .\n" for s, p, o in self)


def union(parts: Iterable[Iterable[Triple]]) -> Graph:
    """One rdflib Graph of the triples of several parts."""
    graph = Graph()
    for part in parts:
        for triple in part:
            graph.add(triple)
    return graph


def digest(parts: Iterable[Triples]) -> str:
    """SHA-256 (hex) of a set of triples, whatever their order."""
    lines = sorted(line for part in parts for line in set(part.ntriples().split("\n")))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def term(value: URIRef | Literal | str | int | float | bool) -> URIRef | Literal:
    """A Python value as an RDF term; floats become decimals, as the shapes expect."""
    if isinstance(value, URIRef | Literal):
        return value
    return _literal(type(value).__name__, value)


def _each(values: Value | Iterable[Value]) -> Iterable[Value]:
    if values is None or isinstance(values, str | int | float):
        return (values,)
    return values


@lru_cache(maxsize=65536)
def _literal(kind: str, value: str | int | float | bool) -> Literal:
    # the kind is part of the key: True, 1 and 1.0 are equal, their literals are not
    if isinstance(value, str):
        value = writable(value)
    return Literal(Decimal(repr(value)) if kind == "float" else value)


@lru_cache(maxsize=131072)
def _n3_typed(kind: type, value: URIRef | Literal) -> str:
    if not isinstance(value, Literal):
        return f"<{value}>"
    # Literal.n3() writes Turtle, whose texts may run over several lines
    text = f'"{str(value).translate(_ESCAPES)}"'
    return f"{text}^^<{value.datatype}>" if value.datatype else text


def _n3(value: URIRef | Literal) -> str:
    return _n3_typed(type(value), value)
