"""Whether a store holds what follows from its named graphs, and nothing else."""

from collections import defaultdict

from rdflib import URIRef

from core.stores.endpoint import Endpoint
from ingest.entailed import entailed
from ingest.triples import Triples
from ontology.iris import Iris


def assert_following(twin: Endpoint, iris: Iris) -> set[URIRef]:
    """Compare each graph with a new derivation; return the graphs of derivations."""
    stored: dict[URIRef, Triples] = defaultdict(Triples)
    for graph, *triple in twin.select(
        f"SELECT ?graph ?s ?p ?o {{ GRAPH ?graph {{ ?s ?p ?o }} "
        f"FILTER (?graph != <{iris.ontology_graph}>) }}"
    ).rows:
        stored[URIRef(str(graph))].append(tuple(triple))  # type: ignore[arg-type]
    start = f"{iris.entailed_graph(URIRef(f'{iris.base}/graph/twin/'))}"
    derived = {
        graph: stored.pop(graph) for graph in [*stored] if graph.startswith(start)
    }
    expected = {
        iris.entailed_graph(graph): set(entailed(triples, iris))
        for graph, triples in stored.items()
    }
    found = {graph: set(triples) for graph, triples in derived.items()}
    assert found == {graph: some for graph, some in expected.items() if some}
    return set(found)
