"""Graphs made up to be asked for, put and counted."""

from rdflib import Graph, Literal, URIRef

GRAPH = "http://x/graph"


def many(count: int) -> Graph:
    """So many triples, each with a number."""
    graph = Graph()
    for number in range(count):
        graph.add((URIRef(f"http://x/{number}"), URIRef("http://x/p"), Literal(number)))
    return graph
