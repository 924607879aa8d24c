"""Validate a twin; the only module that calls pySHACL."""

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from rdflib import RDF, SH, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from shapes.certify import Certifier, Data, Held, Triple, UnsureError
from shapes.load import shapes_graph
from shapes.vocabulary import are_known, unknown_terms
from shapes.wording import lines, short


@dataclass(frozen=True)
class Report:
    """The outcome of a validation; data with only warnings, in `lines`, conforms."""

    conforms: bool
    lines: list[str]
    graph: Graph


@dataclass(frozen=True)
class ExternalNodes:
    """Nodes in other graphs, by class, and a function that reads those graphs."""

    nodes: Held
    read: Callable[[], Graph]


_NONE = ExternalNodes({}, Graph)


def validate(
    data: Graph | Iterable[Triple], elsewhere: ExternalNodes = _NONE
) -> Report:
    """Validate a host, its plans and the catalogues they refer to, as one graph.

    The nodes in `elsewhere` were validated before and are read only for references to
    them. Nothing is inferred: components state their own class, as the twin writes it.
    `shapes.certify` recognises data without faults; for the rest, pySHACL reports the
    faults.
    """
    triples = data if isinstance(data, Graph) else list(data)
    if is_valid(triples, elsewhere.nodes):
        return _flawless()
    graph = _graph(triples)
    return examine(graph + elsewhere.read() if elsewhere.nodes else graph)


def is_valid(triples: Iterable[Triple], held: Held | None = None) -> bool:
    """Whether pySHACL would certainly find neither a violation nor a warning."""
    with _all_alive():
        try:
            data = Data(triples, held)
            return are_known(data.terms) and _certifier().conforms(data)
        except UnsureError:
            return False


@contextmanager
def _all_alive() -> Iterator[None]:
    """Pause garbage collection, which would double the time of the checks."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@cache
def _certifier() -> Certifier:
    return Certifier(shapes_graph())


def _graph(triples: Graph | list[Triple]) -> Graph:
    if isinstance(triples, Graph):
        return triples
    graph = Graph()
    for triple in triples:
        graph.add(triple)
    return graph


def _flawless() -> Report:
    graph, report = Graph(), BNode()
    graph.add((report, RDF.type, SH.ValidationReport))
    graph.add((report, SH.conforms, Literal(True)))
    return Report(True, [], graph)


def examine(data: Graph) -> Report:
    """Validate with pySHACL in any case."""
    # Needed only for faults, and the import takes half a second.
    from pyshacl import validate as pyshacl_validate

    _, graph, _ = pyshacl_validate(
        data, shacl_graph=shapes_graph(), inference="none", allow_warnings=True
    )
    for term, user in unknown_terms(data).items():
        _add_unknown(graph, term, user)
    conforms = (None, SH.resultSeverity, SH.Violation) not in graph
    _conclude(graph, conforms)
    return Report(conforms, lines(graph), graph)


def _add_unknown(graph: Graph, term: URIRef, user: Node) -> None:
    """Report a term as SHACL would, so that readers of the graph see it too."""
    result = BNode()
    message = f"is not a term of the vocabulary; {short(user)} uses it: fix the name"
    graph.add((_report(graph), SH.result, result))
    graph.add((result, RDF.type, SH.ValidationResult))
    graph.add((result, SH.resultSeverity, SH.Violation))
    graph.add((result, SH.focusNode, term))
    graph.add((result, SH.resultMessage, Literal(message)))


def _conclude(graph: Graph, conforms: bool) -> None:
    graph.set((_report(graph), SH.conforms, Literal(conforms)))


def _report(graph: Graph) -> Node:
    return next(graph.subjects(RDF.type, SH.ValidationReport))
