"""Graphs as RDF/XML and JSON-LD documents."""

from collections.abc import Sequence
from typing import Any

import orjson
from rdflib import Graph, URIRef

from ontology.load import context
from ontology.terms import PREFIXES


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
