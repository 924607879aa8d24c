"""Made-up graphs for requests, uploads and counts."""

from rdflib import Graph, Literal, URIRef

GRAPH = "http://x/graph"


def many(count: int) -> Graph:
    """The given number of triples, each with a number."""
    graph = Graph()
    for number in range(count):
        graph.add((URIRef(f"http://x/{number}"), URIRef("http://x/p"), Literal(number)))
    return graph
