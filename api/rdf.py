"""Graphs as documents in each RDF format."""

from collections.abc import Sequence
from typing import Any

import orjson
from anyio import to_thread
from rdflib import Graph, URIRef

from api import formats
from api.nodes import Node
from api.turtle import n_triples, turtle
from ontology.load import context
from ontology.terms import PREFIXES

# A larger document is written in a thread, so that it does not delay others.
_LARGE = 300


async def document(node: Node, base: str, media_type: str) -> bytes | str:
    """Return a node in an RDF media type, with its ``cut`` in words."""
    if len(node.graph) > _LARGE:
        return await to_thread.run_sync(_written, node, base, media_type)
    return _written(node, base, media_type)


def _written(node: Node, base: str, media_type: str) -> bytes | str:
    notes = "".join(f"# cut: {line}\n" for line in node.cut)
    if media_type == formats.TURTLE:
        return notes + turtle(node.graph, node.iri)
    if media_type == formats.N_TRIPLES:
        return notes + n_triples(node.graph)
    if media_type == formats.RDF_XML:
        return rdf_xml(node.graph, node.cut)
    return json_ld(node.graph, f"{base.rstrip('/')}/context.jsonld", node.iri, node.cut)


def rdf_xml(graph: Graph, cut: Sequence[str] = ()) -> str:
    """Return the graph as RDF/XML; comments say what was cut off."""
    text = _with_prefixes(graph).serialize(format="xml")
    notes = "".join(f"<!-- cut: {line.replace('--', '- -')} -->\n" for line in cut)
    declaration, _, rest = text.partition("\n")
    return f"{declaration}\n{notes}{rest}"


def json_ld(
    graph: Graph,
    context_url: str,
    first: URIRef | None = None,
    cut: Sequence[str] = (),
) -> bytes:
    """Return the graph as compact JSON-LD, with the node first; it links its context.

    ``cut`` lists what was cut off; the context gives it no meaning.
    """
    document = orjson.loads(
        _with_prefixes(graph).serialize(
            format="json-ld",
            context=context()["@context"],
            auto_compact=False,
            sort_keys=False,
        )
    )
    made = _arranged(document, context_url, first)
    return orjson.dumps(made | {"cut": [*cut]} if cut else made)


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
