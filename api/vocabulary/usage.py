"""The uses of a term: the shapes that check it and the saved queries that name it."""

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache

from rdflib import RDF, SH, Graph, URIRef
from rdflib.term import Node

from ontology.terms import ST
from queries.catalogue import SavedQuery, load_catalogue
from shapes.load import shapes_graph

_USED = re.compile(r"(?<![\w:])st:([A-Za-z]\w*)")
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_TARGETS = (SH.targetClass, SH.targetSubjectsOf, SH.targetObjectsOf)


@dataclass(frozen=True)
class ShapeUsage:
    """A shape by its name within its file, with its message for violations."""

    file: str
    name: str
    message: str
    severity: str


@cache
def shapes_by_term() -> dict[str, tuple[ShapeUsage, ...]]:
    """Map the local name of a class or property to the shapes that check it."""
    graph = shapes_graph()
    found: dict[str, set[ShapeUsage]] = defaultdict(set)
    for shape in _named(graph):
        for term in _looked_at(graph, shape):
            found[term].add(_shape(graph, shape))
    return {term: tuple(sorted(shapes, key=_by_name)) for term, shapes in found.items()}


@cache
def queries_by_term() -> dict[str, tuple[SavedQuery, ...]]:
    """Map the local name of a term to the built-in queries whose text names it.

    Everyone may read the ontology, but perhaps not the texts of added queries.
    """
    found: dict[str, list[SavedQuery]] = defaultdict(list)
    for query in load_catalogue().values():
        for term in set(_USED.findall(_COMMENT.sub("", query.text))):
            found[term].append(query)
    return {term: tuple(queries) for term, queries in found.items()}


def _by_name(shape: ShapeUsage) -> tuple[str, str]:
    return shape.file, shape.name


def _named(graph: Graph) -> list[URIRef]:
    kinds = (SH.PropertyShape, SH.NodeShape)
    found = {shape for kind in kinds for shape in graph.subjects(RDF.type, kind)}
    return [shape for shape in found if isinstance(shape, URIRef)]


def _looked_at(graph: Graph, shape: URIRef) -> set[str]:
    """Return the targets of a shape, and every property on its paths, even nested."""
    targets = {term for link in _TARGETS for term in graph[shape:link]}
    paths = {path for node in _reached(graph, shape) for path in graph[node : SH.path]}
    nested = {term for path in paths for term in _reached(graph, path)}
    return {
        term.removeprefix(str(ST))
        for term in targets | nested
        if isinstance(term, URIRef) and term.startswith(str(ST))
    }


def _reached(graph: Graph, start: Node) -> set[Node]:
    """Return a node and all nodes below it through blank nodes: lists, alternatives."""
    found, waiting = {start}, [start]
    while waiting:
        node = waiting.pop()
        if node != start and isinstance(node, URIRef):
            continue
        for value in graph.objects(node):
            if value not in found:
                found.add(value)
                waiting.append(value)
    return found


def _shape(graph: Graph, shape: URIRef) -> ShapeUsage:
    file, _, name = str(shape).rpartition("#")
    severity = str(graph.value(shape, SH.severity) or SH.Violation)
    return ShapeUsage(
        file.rpartition("/")[2],
        name,
        str(graph.value(shape, SH.message) or ""),
        severity.removeprefix(str(SH)).lower(),
    )
