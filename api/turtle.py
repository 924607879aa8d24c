"""Turtle, written so that every literal keeps the text it has in the store.

rdflib's own writer rounds doubles to six digits.
"""

import re
from collections.abc import Iterable

from rdflib import Graph, Literal, URIRef
from rdflib.namespace import RDF, XSD
from rdflib.term import Node

from ontology.terms import PREFIXES

_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PLAIN = {
    str(XSD.integer): re.compile(r"[+-]?[0-9]+"),
    str(XSD.decimal): re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    str(XSD.double): re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+"),
    str(XSD.boolean): re.compile("true|false"),
}
_NAMESPACES = sorted(PREFIXES.items(), key=lambda item: -len(item[1]))


def turtle(graph: Graph, first: URIRef | None = None) -> str:
    """The graph as Turtle: one block a subject, the given one first."""
    subjects = sorted(
        set(graph.subjects()), key=lambda subject: (subject != first, str(subject))
    )
    blocks = "\n".join(_block(graph, subject) for subject in subjects)
    head = (
        f"PREFIX {prefix}: <{namespace}>\n"
        for prefix, namespace in PREFIXES.items()
        if f"{prefix}:" in blocks
    )
    return f"{''.join(head)}\n{blocks}"


def _block(graph: Graph, subject: Node) -> str:
    links = sorted(
        set(graph.predicates(subject)), key=lambda link: (link != RDF.type, str(link))
    )
    lines = " ;\n".join(
        f"    {_verb(link)} {_objects(graph.objects(subject, link))}" for link in links
    )
    return f"{_written(subject)}\n{lines} .\n"


def _verb(link: Node) -> str:
    return "a" if link == RDF.type else _written(link)


def _objects(objects: Iterable[Node]) -> str:
    return " , ".join(sorted(_written(value) for value in objects))


def _written(term: Node) -> str:
    if isinstance(term, URIRef):
        return _short(str(term)) or term.n3()
    if isinstance(term, Literal):
        return _literal(term)
    return term.n3()  # type: ignore[attr-defined, no-any-return]


def _short(iri: str) -> str:
    for prefix, namespace in _NAMESPACES:
        if iri.startswith(namespace):
            local = iri.removeprefix(namespace)
            return f"{prefix}:{local}" if _LOCAL.fullmatch(local) else ""
    return ""


def _literal(literal: Literal) -> str:
    text, datatype = str(literal), literal.datatype
    if datatype is not None and str(datatype) in _PLAIN:
        if _PLAIN[str(datatype)].fullmatch(text):
            return text
    quoted = Literal(text).n3()
    if literal.language:
        return f"{quoted}@{literal.language}"
    if datatype is None or datatype == XSD.string:
        return quoted
    return f"{quoted}^^{_written(datatype)}"
