"""Find terms of ``st:`` that the ontology does not define.

No shape applies to a misspelt property or class, so everything about it would conform.
"""

from collections.abc import Iterable

from rdflib import RDF, Graph, URIRef
from rdflib.term import Node

from ontology.load import definitions
from ontology.terms import ST


def unknown_terms(data: Graph) -> dict[URIRef, Node]:
    """Every term of ``st:`` that is used but not defined, with a node that uses it."""
    used = {term: subject for subject, term, _ in data.triples((None, None, None))}
    used |= {term: subject for subject, term in data.subject_objects(RDF.type)}
    return {term: used[term] for term in _unknown(used)}


def are_known(used: Iterable[Node]) -> bool:
    """Whether all of these terms of ``st:`` are defined."""
    return not _unknown(used)


def _unknown(used: Iterable[Node]) -> list[URIRef]:
    return sorted(
        term
        for term in used
        if isinstance(term, URIRef)
        and term.startswith(str(ST))
        and term.removeprefix(str(ST)) not in definitions()
    )
