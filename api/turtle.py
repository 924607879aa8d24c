"""Writes Turtle and N-Triples so that every literal keeps its text.

rdflib's own writer rounds doubles to six digits.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from rdflib import Graph, Literal, URIRef
from rdflib.namespace import RDF, VOID, XSD
from rdflib.term import Node

from ontology import terms

_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NO_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_ESCAPES = {'"': r"\"", "\\": r"\\", "\n": r"\n", "\r": r"\r"}
_SPECIAL = re.compile(r'["\\\n\r]')
_PLAIN = {
    str(XSD.integer): re.compile(r"[+-]?[0-9]+"),
    str(XSD.decimal): re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    str(XSD.double): re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+"),
    str(XSD.boolean): re.compile("true|false"),
}
PREFIXES = terms.PREFIXES | {
    "void": str(VOID),
    "sd": "http://www.w3.org/ns/sparql-service-description#",
}
_NAMESPACES = sorted(PREFIXES.items(), key=lambda item: -len(item[1]))


def turtle(graph: Graph, first: URIRef | None = None) -> str:
    """Return the graph as Turtle, with one block per subject and ``first`` first."""
    # rdflib needs long for each lookup, so all triples are read once.
    grouped: dict[Node, dict[Node, list[Node]]] = defaultdict(lambda: defaultdict(list))
    for subject, link, value in graph:
        grouped[subject][link].append(value)
    subjects = sorted(grouped, key=lambda subject: (subject != first, str(subject)))
    written = cache(_written)
    blocks = "\n".join(_block(one, grouped[one], written) for one in subjects)
    head = (
        f"PREFIX {prefix}: <{namespace}>\n"
        for prefix, namespace in PREFIXES.items()
        if f"{prefix}:" in blocks
    )
    return f"{''.join(head)}\n{blocks}"


def _block(
    subject: Node, facts: Mapping[Node, Sequence[Node]], written: Callable[[Node], str]
) -> str:
    links = sorted(facts, key=lambda link: (link != RDF.type, str(link)))
    lines = " ;\n".join(
        f"    {'a' if link == RDF.type else written(link)} "
        f"{' , '.join(sorted(map(written, facts[link])))}"
        for link in links
    )
    return f"{written(subject)}\n{lines} .\n"


def n_triples(graph: Graph) -> str:
    """Return the graph as N-Triples, sorted."""
    lines = (f"{_full(s)} {_full(p)} {_full(o)} .\n" for s, p, o in graph)
    return "".join(sorted(lines))


def _written(term: Node) -> str:
    if isinstance(term, URIRef):
        return _short(str(term)) or _iri(str(term))
    if isinstance(term, Literal):
        return _plain(term) or _quoted(term, _written)
    return f"_:{term}"


def _full(term: Node) -> str:
    if isinstance(term, URIRef):
        return _iri(str(term))
    return _quoted(term, _full) if isinstance(term, Literal) else f"_:{term}"


def _iri(iri: str) -> str:
    return "<" + _NO_IRI.sub(lambda match: rf"\u{ord(match[0]):04X}", iri) + ">"


def _short(iri: str) -> str:
    for prefix, namespace in _NAMESPACES:
        if iri.startswith(namespace):
            local = iri.removeprefix(namespace)
            return f"{prefix}:{local}" if _LOCAL.fullmatch(local) else ""
    return ""


def _plain(literal: Literal) -> str:
    """Return a number or boolean that needs no quotes; empty for others."""
    pattern = _PLAIN.get(str(literal.datatype))
    return str(literal) if pattern and pattern.fullmatch(str(literal)) else ""


def _quoted(literal: Literal, name: Callable[[Node], str]) -> str:
    text = _SPECIAL.sub(lambda match: _ESCAPES[match[0]], str(literal))
    if literal.language:
        return f'"{text}"@{literal.language}'
    if literal.datatype is None or literal.datatype == XSD.string:
        return f'"{text}"'
    return f'"{text}"^^{name(literal.datatype)}'
