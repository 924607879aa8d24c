"""Validating a twin: the one place that calls pySHACL."""

from dataclasses import dataclass

from pyshacl import validate as pyshacl_validate
from rdflib import RDF, SH, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from shapes.load import shapes_graph
from shapes.vocabulary import unknown_terms
from shapes.wording import lines, short


@dataclass(frozen=True)
class Report:
    """The outcome of a validation; warnings stand in `lines` and still conform."""

    conforms: bool
    lines: list[str]
    graph: Graph


def validate(data: Graph) -> Report:
    """Validate a host, its plans and the catalogues they refer to, in one graph.

    Nothing is inferred: components state their own class, as the twin writes it, so
    that 50,000 triples take a second.
    """
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
    message = f"is no term of the vocabulary, and {short(user)} uses it: mend the name"
    graph.add((_report(graph), SH.result, result))
    graph.add((result, RDF.type, SH.ValidationResult))
    graph.add((result, SH.resultSeverity, SH.Violation))
    graph.add((result, SH.focusNode, term))
    graph.add((result, SH.resultMessage, Literal(message)))


def _conclude(graph: Graph, conforms: bool) -> None:
    graph.set((_report(graph), SH.conforms, Literal(conforms)))


def _report(graph: Graph) -> Node:
    return next(graph.subjects(RDF.type, SH.ValidationReport))
