"""RDF terms and documents: rows of the graph store in, JSON-LD out."""

from typing import Any

import orjson
from rdflib import BNode, Graph, Literal, URIRef
from rdflib.term import Node

from api.fuseki import Binding
from ontology.load import context
from ontology.terms import PREFIXES
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


def json_ld(graph: Graph, context_url: str, first: URIRef | None = None) -> bytes:
    """The graph as compact JSON-LD; its context is only named, the node first."""
    document = orjson.loads(
        _with_prefixes(graph).serialize(
            format="json-ld",
            context=context()["@context"],
            auto_compact=False,
            sort_keys=False,
        )
    )
    return orjson.dumps(_arranged(document, context_url, first))


def _arranged(document: Any, context_url: str, first: URIRef | None) -> dict[str, Any]:
    nodes = document if isinstance(document, list) else document.get("@graph")
    if nodes is None:
        nodes = [{k: v for k, v in document.items() if k != "@context"}]
    if len(nodes) == 1:
        return {"@context": context_url, **nodes[0]}
    nodes.sort(key=lambda node: (_id(node) != str(first), _id(node)))
    return {"@context": context_url, "@graph": nodes}


def _id(node: dict[str, Any]) -> str:
    return str(node.get("@id", node.get("id", "")))


def _with_prefixes(graph: Graph) -> Graph:
    for prefix, namespace in PREFIXES.items():
        graph.bind(prefix, namespace, override=True)
    return graph
