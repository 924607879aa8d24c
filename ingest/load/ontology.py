"""Publish the ontology in the store, so that queries can join it with the twins.

With another ontology, other superclasses may follow from each graph.
"""

from rdflib import DCTERMS, Literal, URIRef

from core.stores.endpoint import Endpoint
from ingest.entailed import derive_again
from ontology.iris import Iris, stated
from ontology.load import alignment_graph, ontology_digest, ontology_graph


def publish_ontology(twin: Endpoint, iris: Iris) -> bool:
    """Publish all modules and alignments; return whether the store had others."""
    graph, digest = iris.ontology_graph, Literal(ontology_digest())
    known = f"<{graph}> <{DCTERMS.identifier}> {digest.n3()}"
    if twin.ask(f"ASK {{ GRAPH <{graph}> {{ {known} }} }}"):
        return False
    for described in _graphs(twin):
        derive_again(twin, iris, described)
    # Last, so that an interrupted derivation is repeated.
    published = ontology_graph() + alignment_graph()
    published.add((graph, DCTERMS.identifier, digest))
    twin.put_graph(graph, published)
    return True


def _graphs(twin: Endpoint) -> list[URIRef]:
    """Every graph that describes a node."""
    rows = twin.select(f"SELECT DISTINCT ?graph {{ {stated('?node a ?class')} }}")
    return [URIRef(graph) for (graph,) in rows.values()]
