"""RDF terms as SPARQL writes them, and of what it answers."""

from rdflib import BNode, Literal, URIRef
from rdflib.term import Node

from core.stores.fuseki import Binding
from queries.binding import Param, serialise

_IRI = Param("iri", "iri")


_TEXT = Param("text", "string")


def iri_term(iri: str) -> str:
    """An IRI as SPARQL writes it; raises ParameterError for what is none."""
    return serialise(_IRI, str(iri))


def text_term(text: str) -> str:
    """A text as SPARQL writes it; raises ParameterError for what is none."""
    return serialise(_TEXT, text)


def term(binding: Binding) -> Node:
    """One value of a result row as an RDF term, its lexical form untouched."""
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
