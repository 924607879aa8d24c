"""Comparison of large graphs: rdflib's takes seconds for the ontology."""

from collections import Counter
from functools import cache

from rdflib import BNode, Graph
from rdflib.term import Node


def unnamed(graph: Graph) -> Counter[tuple[str, str, str]]:
    """Return the triples, with each blank node replaced by what the graph says of it.

    Graphs with equal results are isomorphic if their blank nodes are trees, as in OWL.
    A blank node that refers to itself ends in a RecursionError.
    """

    @cache
    def name(term: Node) -> str:
        if not isinstance(term, BNode):
            return term.n3()
        said = [f"{p.n3()} {name(o)}" for p, o in graph.predicate_objects(term)]
        return f"[{' ; '.join(sorted(said))}]"

    return Counter((name(s), p.n3(), name(o)) for s, p, o in graph)
