"""Graphs as documents in each RDF format."""

from collections.abc import Collection, Sequence
from typing import Any

import orjson
from anyio import to_thread
from rdflib import Graph, URIRef

from api import formats
from api.json_ld_nesting import JsonObject, Nesting
from api.nodes import Node
from api.turtle import n_triples, turtle
from ontology.load import context
from ontology.terms import PREFIXES, ST

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
    return json_ld(node.graph, _context_url(base), node.iri, node.cut)


def _context_url(base: str) -> str:
    return f"{base.rstrip('/')}/context.jsonld"


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
    return _dumped(_nodes(graph), context_url, first, cut)


def nested_json_ld(node: Node, base: str, links: Collection[str] = ()) -> bytes:
    """Return a node as JSON-LD, with other nodes of its graph within each other.

    The values of these links, by their names in the context, are nested, and parts as
    ``parts`` of the whole: the inverse of st:isPartOf. Each node is written once. Nodes
    that are within no other follow the first one.
    """
    nodes = {_id(one): one for one in _nodes(node.graph)}
    nested = Nesting(nodes, links).within(str(node.iri))
    named: list[Any] = [_context_url(base), {"parts": {"@reverse": str(ST.isPartOf)}}]
    return _dumped(nested, named, node.iri, node.cut)


def _nodes(graph: Graph) -> list[JsonObject]:
    """Return each subject as an object of compact JSON-LD, without others within it."""
    document = orjson.loads(
        _with_prefixes(graph).serialize(
            format="json-ld",
            context=context()["@context"],
            auto_compact=False,
            sort_keys=False,
        )
    )
    nodes: list[JsonObject] | None = (
        document if isinstance(document, list) else document.get("@graph")
    )
    if nodes is None:
        return [{k: v for k, v in document.items() if k != "@context"}]
    return nodes


def _dumped(
    nodes: list[JsonObject], context_: Any, first: URIRef | None, cut: Sequence[str]
) -> bytes:
    nodes.sort(key=lambda node: (_id(node) != str(first), _id(node)))
    found = nodes[0] if len(nodes) == 1 else {"@graph": nodes}
    notes = {"cut": [*cut]} if cut else {}
    return orjson.dumps({"@context": context_, **found, **notes})


def _id(node: JsonObject) -> str:
    return str(node.get("@id", node.get("id", "")))


def _with_prefixes(graph: Graph) -> Graph:
    for prefix, namespace in PREFIXES.items():
        graph.bind(prefix, namespace, override=True)
    return graph
