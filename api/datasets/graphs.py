"""Named graphs and their sizes, in the vocabularies of descriptions."""

from collections.abc import Mapping
from itertools import islice
from urllib.parse import quote

from rdflib import RDF, XSD, Graph, Literal, Namespace, URIRef
from rdflib.namespace import VOID

from api.nodes import Node
from ontology.iris import Iris

SD = Namespace("http://www.w3.org/ns/sparql-service-description#")
FORMATS = Namespace("http://www.w3.org/ns/formats/")

MAX_GRAPHS = 1000
_NOT_COUNTED = "the named graphs and their triples: counting took too long"


def add_graphs(
    node: Node, dataset: URIRef, counts: Mapping[str, int] | None, iris: Iris
) -> None:
    """Add the named graphs of a dataset, and the sum of their triples.

    At most MAX_GRAPHS; ``cut`` of the node says what is missing.
    """
    if counts is None:
        node.cut.append(_NOT_COUNTED)
        return
    node.graph.add((dataset, VOID.triples, _number(sum(counts.values()))))
    for name, triples in islice(counts.items(), MAX_GRAPHS):
        _add_graph(node.graph, dataset, name, triples, iris)
    if len(counts) > MAX_GRAPHS:
        node.cut.append(f"only {MAX_GRAPHS} of {len(counts)} named graphs are listed")


def _add_graph(
    graph: Graph, dataset: URIRef, name: str, triples: int, iris: Iris
) -> None:
    path = quote(name.removeprefix(iris.graphs), safe="/~")
    named, contents = URIRef(f"{dataset}-named/{path}"), URIRef(f"{dataset}/{path}")
    graph.add((dataset, SD.namedGraph, named))
    graph.add((dataset, VOID.subset, contents))
    graph.add((named, RDF.type, SD.NamedGraph))
    graph.add((named, SD.name, URIRef(name)))
    graph.add((named, SD.graph, contents))
    graph.add((contents, RDF.type, SD.Graph))
    graph.add((contents, RDF.type, VOID.Dataset))
    graph.add((contents, VOID.triples, _number(triples)))


def _number(value: int) -> Literal:
    return Literal(value, datatype=XSD.integer)
