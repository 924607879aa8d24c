"""Triples as plain lists: collected, counted, hashed and written as N-Triples.

rdflib's Graph indexes every triple three times. A description needs that only once, for
validation, so triples are collected here and converted to a Graph then.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import overload

from rdflib import RDF, RDFS, Graph, Literal, URIRef

from ontology.texts import writable

Value = URIRef | Literal | str | int | float | bool | None
Triple = tuple[URIRef, URIRef, URIRef | Literal]

# A subset of the local names that SPARQL allows after a prefix without escapes.
_LOCAL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
)


class Triples(list[Triple]):
    """Triples of one named graph, in the order of their description."""

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
        """Return the triples as an rdflib Graph."""
        return union([self])

    def ntriples(self) -> str:
        """Return the triples as N-Triples, one per line."""
        return "".join(f"<{s}> <{p}> {_n3(o)} .\n" for s, p, o in self)


def quads(graphs: Mapping[URIRef, Triples]) -> bytes:
    """Write triples of several graphs as N-Quads."""
    return "".join(
        f"<{s}> <{p}> {_n3(o)} <{graph}> .\n"
        for graph, triples in graphs.items()
        for s, p, o in triples
    ).encode()


def insertion(graphs: Mapping[URIRef, Triples]) -> str:
    """Write triples of several graphs as one INSERT DATA with its own prefixes.

    Fuseki spends most of an update on reading IRIs: with prefixes, and each subject
    written once, it takes less than half the time of N-Triples.
    """
    short = _TermShortener()
    blocks = [
        f"GRAPH <{graph}> {{\n{_grouped(triples, short)}}}\n"
        for graph, triples in graphs.items()
    ]
    return f"{short.prefixes()}INSERT DATA {{\n{''.join(blocks)}}}"


class _TermShortener:
    """Abbreviates IRIs with a prefix for the part up to the last `/` or `#`."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._written: dict[str, str] = {}

    def prefixes(self) -> str:
        return "".join(f"PREFIX {n} <{space}>\n" for space, n in self._names.items())

    def __call__(self, value: URIRef | Literal) -> str:
        if type(value) is Literal:
            text = f'"{str(value).translate(_ESCAPES)}"'
            return f"{text}^^{self(value.datatype)}" if value.datatype else text
        found = self._written.get(value)
        return found or self._written.setdefault(value, self._iri(value))

    def _iri(self, iri: str) -> str:
        end = max(iri.rfind("/"), iri.rfind("#")) + 1
        space, local = iri[:end], iri[end:]
        if not _LOCAL.fullmatch(local):
            return f"<{iri}>"
        return f"{self._names.setdefault(space, f'n{len(self._names)}:')}{local}"


def _grouped(triples: Triples, short: _TermShortener) -> str:
    parts, last = [], None
    for s, p, o in triples:
        lead = "; " if s == last else f"{'. ' if last else ''}\n{short(s)} "
        parts.append(f"{lead}{short(p)} {short(o)} ")
        last = s
    return f"{''.join(parts)}.\n" if parts else ""


def union(parts: Iterable[Iterable[Triple]]) -> Graph:
    """Build one rdflib Graph from the triples of several parts."""
    graph = Graph()
    for part in parts:
        for triple in part:
            graph.add(triple)
    return graph


def digest(parts: Iterable[Triples]) -> str:
    """SHA-256 (hex) of a set of triples, independent of their order."""
    lines = sorted(line for part in parts for line in set(part.ntriples().split("\n")))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def term(value: URIRef | Literal | str | int | float | bool) -> URIRef | Literal:
    """Convert a Python value to an RDF term; floats become decimals for the shapes."""
    if type(value) in (URIRef, Literal):
        return value  # type: ignore[return-value]
    return _literal(type(value).__name__, value)


def _each(values: Value | Iterable[Value]) -> Iterable[Value]:
    if values is None or isinstance(values, str | int | float):
        return (values,)
    return values


@lru_cache(maxsize=65536)
def _literal(kind: str, value: str | int | float | bool) -> Literal:
    # the type is part of the key: True, 1 and 1.0 are equal, their literals are not
    if isinstance(value, str):
        value = writable(value)
    return Literal(Decimal(repr(value)) if kind == "float" else value)


def _n3(value: URIRef | Literal) -> str:
    # not isinstance: Literal derives from an abstract class, so that check is slow
    if type(value) is Literal:
        # Literal.n3() writes Turtle, where texts may span several lines
        text = f'"{str(value).translate(_ESCAPES)}"'
        return f"{text}^^<{value.datatype}>" if value.datatype else text
    return f"<{value}>"


@overload
def rounded(value: float, digits: int = 9) -> Literal: ...
@overload
def rounded(value: None, digits: int = 9) -> None: ...
@overload
def rounded(value: float | None, digits: int = 9) -> Literal | None: ...
def rounded(value: float | None, digits: int = 9) -> Literal | None:
    """Round to ``digits`` decimal places and twelve significant digits; keep None."""
    if value is None:
        return None
    return Literal(Decimal(f"{value:.12g}").__round__(digits))
