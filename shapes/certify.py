"""Prove that data conforms, with the parts of SHACL that our shapes use.

pySHACL takes 50 microseconds a triple, and most of a fleet has no faults. So the shapes
are compiled to checks over plain indexes, 15 times as fast. pySHACL runs only if a
check fails: every message that users see is pySHACL's. If the meaning of a construct
might differ, the check raises UnsureError, and pySHACL decides. No shape is skipped
silently: an unknown part of one makes all unsure, which a test would notice.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping
from datetime import datetime
from decimal import Decimal

from rdflib import RDF, RDFS, SH, XSD, BNode, Graph, Literal, URIRef
from rdflib.collection import Collection
from rdflib.term import Node

Triple = tuple[Node, Node, Node]
Held = Mapping[Node, Container[Node]]


class UnsureError(Exception):
    """Only pySHACL can decide."""


class Data:
    """The triples of a graph, by predicate and subject, and the nodes of each class.

    ``held`` are nodes in other graphs, by class; nothing more is known of them.
    """

    def __init__(self, triples: Iterable[Triple], held: Held | None = None) -> None:
        found: dict[Node, dict[Node, list[Node]]] = defaultdict(dict)
        for subject, predicate, value in triples:
            found[predicate].setdefault(subject, []).append(value)
        if RDFS.subClassOf in found:
            raise UnsureError("the data has classes of its own")
        self._found = found
        self.types: dict[Node, set[Node]] = defaultdict(set)
        for subject, classes in found[RDF.type].items():
            for one in classes:
                self.types[one].add(subject)
        self._held = held or {}

    def values(self, subject: Node, predicate: Node) -> list[Node]:
        """The distinct values of a node's property, unordered."""
        found = self._found[predicate].get(subject, [])
        if predicate == RDF.type:
            found = [*found, *(one for one, of in self._held.items() if subject in of)]
        return found if len(found) < 2 else list(set(found))

    def subjects(self, predicate: Node) -> Iterable[Node]:
        """The nodes that have a property."""
        return self._found[predicate].keys()

    def objects(self, predicate: Node) -> Iterable[Node]:
        """The values of a property."""
        return {value for values in self._found[predicate].values() for value in values}

    def is_a(self, node: Node, wanted: Node) -> bool:
        """Whether a node has a class, in this graph or in `held`."""
        return node in self.types.get(wanted, ()) or node in self._held.get(wanted, ())

    @property
    def terms(self) -> Iterable[Node]:
        """Every predicate and class that is used."""
        return {p for p, of in self._found.items() if of} | set(self.types)


Values = list[Node]
Check = Callable[[Data, Node], bool]
_Test = Callable[[Data, Node, Values], bool]
_Builder = Callable[[Graph, Node], _Test]

_TARGETS = {SH.targetClass, SH.targetSubjectsOf, SH.targetObjectsOf}
_DECLARED = {RDF.type, SH.path, SH.message, SH.severity, *_TARGETS}
_KINDS: dict[Node, tuple[type, ...]] = {SH.IRI: (URIRef,), SH.Literal: (Literal,)}
_PYTHON: dict[Node, type] = {
    **dict.fromkeys((XSD.string, XSD.anyURI), str),
    XSD.integer: int,
    XSD.decimal: Decimal,
    XSD.boolean: bool,
    XSD.dateTime: datetime,
}


class Certifier:
    """All shapes of a graph, compiled; raises UnsureError for unsupported parts."""

    def __init__(self, shapes: Graph) -> None:
        if (None, RDF.type, RDFS.Class) in shapes:
            raise UnsureError("a shape that is a class")
        targeted = {node for t in _TARGETS for node in shapes.subjects(t)}
        self._shapes = [(_focus(shapes, one), _shape(shapes, one)) for one in targeted]

    def conforms(self, data: Data) -> bool:
        """Whether there are no results for the data, not even a warning."""
        return all(
            check(data, node) for focus, check in self._shapes for node in focus(data)
        )


def _focus(shapes: Graph, shape: Node) -> Callable[[Data], set[Node]]:
    classes = list(shapes.objects(shape, SH.targetClass))
    subjects = list(shapes.objects(shape, SH.targetSubjectsOf))
    objects = list(shapes.objects(shape, SH.targetObjectsOf))

    def focus(data: Data) -> set[Node]:
        found = set().union(*(data.types[one] for one in classes if one in data.types))
        found.update(*(data.subjects(one) for one in subjects))
        return found.union(*(data.objects(one) for one in objects))

    return focus


def _shape(shapes: Graph, shape: Node) -> Check:
    tests = []
    for predicate, value in shapes.predicate_objects(shape):
        if predicate in _DECLARED:
            continue
        builder = _BUILDERS.get(predicate)
        if builder is None:
            raise UnsureError(f"{predicate} is not supported here")
        tests.append(builder(shapes, value))
    paths = _paths(shapes, shape)

    def check(data: Data, node: Node) -> bool:
        values = [node] if paths is None else _values(data, node, paths)
        return all(test(data, node, values) for test in tests)

    return check


def _paths(shapes: Graph, shape: Node) -> list[Node] | None:
    """The properties that a shape applies to; None for the node itself."""
    path = shapes.value(shape, SH.path)
    if path is None or isinstance(path, URIRef):
        return None if path is None else [path]
    ways = list(shapes.predicate_objects(path))
    if [way for way, _ in ways] != [SH.alternativePath]:
        raise UnsureError("a path that is not supported here")
    members = list(Collection(shapes, ways[0][1]))
    if not all(isinstance(one, URIRef) for one in members):
        raise UnsureError("a path within a path")
    return members


def _values(data: Data, node: Node, paths: list[Node]) -> Values:
    if len(paths) == 1:
        return data.values(node, paths[0])
    return list({value for path in paths for value in data.values(node, path)})


def _number(node: Node) -> int:
    if not isinstance(node, Literal) or not isinstance(node.value, int):
        raise UnsureError("a value that is not an integer")
    return node.value


def _each(test: Callable[[Data, Node], bool]) -> _Test:
    return lambda data, _, values: all(test(data, value) for value in values)


def _min_count(_: Graph, limit: Node) -> _Test:
    count = _number(limit)
    return lambda data, node, values: len(values) >= count


def _max_count(_: Graph, limit: Node) -> _Test:
    count = _number(limit)
    return lambda data, node, values: len(values) <= count


def _has_value(_: Graph, wanted: Node) -> _Test:
    return lambda data, node, values: wanted in values


def _in(shapes: Graph, members: Node) -> _Test:
    allowed = set(Collection(shapes, members))
    return _each(lambda data, value: value in allowed)


def _class(_: Graph, wanted: Node) -> _Test:
    return _each(lambda data, value: data.is_a(value, wanted))


def _node_kind(_: Graph, kind: Node) -> _Test:
    if kind not in _KINDS:
        raise UnsureError(f"{kind} is not supported here")
    kinds = _KINDS[kind]
    return _each(lambda data, value: isinstance(value, kinds))


def _datatype(_: Graph, wanted: Node) -> _Test:
    if wanted not in _PYTHON:
        raise UnsureError(f"{wanted} is not supported here")
    python = _PYTHON[wanted]

    def test(_: Data, value: Node) -> bool:
        if not isinstance(value, Literal) or value.language:
            return False
        plain = value.datatype is None and wanted == XSD.string
        if not plain and value.datatype != wanted:
            return False
        return not value.ill_typed and isinstance(value.value, python)

    return _each(test)


def _text(value: Node) -> str | None:
    """A value as text; None for a blank node."""
    if isinstance(value, Literal) and not isinstance(value.value, str):
        raise UnsureError("a text that is a number or a time")
    return None if isinstance(value, BNode) else str(value)


def _length(shorter: Callable[[int, int], bool]) -> _Builder:
    def build(_: Graph, limit: Node) -> _Test:
        count = _number(limit)

        def test(_: Data, value: Node) -> bool:
            text = _text(value)
            return text is not None and shorter(len(text), count)

        return _each(test)

    return build


def _pattern(_: Graph, pattern: Node) -> _Test:
    expression = re.compile(str(pattern))

    def test(_: Data, value: Node) -> bool:
        text = _text(value)
        return text is not None and expression.search(text) is not None

    return _each(test)


def _quantity(node: Node) -> int | Decimal:
    value = node.value if isinstance(node, Literal) and not node.ill_typed else None
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise UnsureError("a value that is not a number")
    return value


_Compare = Callable[[int | Decimal, int | Decimal], bool]


def _bound(holds: _Compare) -> _Builder:
    def build(_: Graph, limit: Node) -> _Test:
        bound = _quantity(limit)
        return _each(lambda data, value: holds(_quantity(value), bound))

    return build


def _not_after(_: Graph, other: Node) -> _Test:
    def test(data: Data, node: Node, values: Values) -> bool:
        return all(
            _ordered(value, limit)
            for limit in data.values(node, other)
            for value in values
        )

    return test


def _ordered(first: Node, second: Node) -> bool:
    if isinstance(first, Literal) and isinstance(second, Literal):
        one, two = first.value, second.value
        if isinstance(one, datetime) and isinstance(two, datetime):
            if (one.tzinfo is None) != (two.tzinfo is None):
                raise UnsureError("a time with a zone and one without")
            return one <= two
    return _quantity(first) <= _quantity(second)


def _of_shapes(holds: Callable[[list[bool]], bool]) -> _Builder:
    def build(shapes: Graph, members: Node) -> _Test:
        checks = [_shape(shapes, one) for one in Collection(shapes, members)]
        return _each(
            lambda data, value: holds([check(data, value) for check in checks])
        )

    return build


def _not(shapes: Graph, shape: Node) -> _Test:
    check = _shape(shapes, shape)
    return _each(lambda data, value: not check(data, value))


def _property(shapes: Graph, shape: Node) -> _Test:
    return _each(_shape(shapes, shape))


_BUILDERS: dict[Node, _Builder] = {
    SH.minCount: _min_count,
    SH.maxCount: _max_count,
    SH.hasValue: _has_value,
    SH["in"]: _in,
    SH["class"]: _class,
    SH.nodeKind: _node_kind,
    SH.datatype: _datatype,
    SH.minLength: _length(lambda length, limit: length >= limit),
    SH.maxLength: _length(lambda length, limit: length <= limit),
    SH.pattern: _pattern,
    SH.minInclusive: _bound(lambda value, limit: value >= limit),
    SH.maxInclusive: _bound(lambda value, limit: value <= limit),
    SH.minExclusive: _bound(lambda value, limit: value > limit),
    SH.lessThanOrEquals: _not_after,
    SH["or"]: _of_shapes(any),
    SH["and"]: _of_shapes(all),
    SH.xone: _of_shapes(lambda results: results.count(True) == 1),
    SH["not"]: _not,
    SH.property: _property,
}
