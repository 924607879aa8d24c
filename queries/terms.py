"""RDF terms in SPARQL notation, and from SPARQL results."""

from functools import lru_cache

from rdflib import BNode, Literal, URIRef
from rdflib.term import Node

from core.stores.fuseki import Binding
from queries.binding import Param, serialise

_IRI = Param("iri", "iri")


_TEXT = Param("text", "string")


def iri_term(iri: str) -> str:
    """An IRI in SPARQL notation; raises ParameterError for an invalid one."""
    return serialise(_IRI, str(iri))


def text_term(text: str) -> str:
    """A text in SPARQL notation; raises ParameterError for an invalid one."""
    return serialise(_TEXT, text)


# Making a literal is slow, and rows repeat properties and values.
@lru_cache(maxsize=4096)
def term(binding: Binding) -> Node:
    """One value of a result row as an RDF term, with its lexical form unchanged."""
    if binding.type == "uri":
        return URIRef(binding.value)
    if binding.type == "bnode":
        return BNode(binding.value)
    return Literal(
        binding.value,
        lang=binding.language or None,
        datatype=URIRef(binding.datatype) if binding.datatype else None,
        normalize=False,
    )
