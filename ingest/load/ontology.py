"""Publish the ontology in the store, so that queries can join it with the twins."""

from rdflib import DCTERMS, Literal

from core.stores.endpoint import Endpoint
from ontology.iris import Iris
from ontology.load import alignment_graph, ontology_digest, ontology_graph


def publish_ontology(twin: Endpoint, iris: Iris) -> bool:
    """Publish all modules and alignments; return whether the store had others."""
    graph, digest = iris.ontology_graph, Literal(ontology_digest())
    known = f"<{graph}> <{DCTERMS.identifier}> {digest.n3()}"
    if twin.ask(f"ASK {{ GRAPH <{graph}> {{ {known} }} }}"):
        return False
    published = ontology_graph() + alignment_graph()
    published.add((graph, DCTERMS.identifier, digest))
    twin.put_graph(graph, published)
    return True
