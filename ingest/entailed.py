"""What follows from a named graph, in a graph of its own next to it.

For each node: the superclasses of its class, and `st:ofHost` if it belongs to a host
and does not state it. Each update that writes a named graph also writes what follows.
"""

from collections.abc import Iterable, Mapping

from rdflib import RDF, URIRef

from core.stores.endpoint import Endpoint
from ingest.triples import Triple, Triples, insertion
from ontology.iris import Iris
from ontology.superclasses import superclasses
from ontology.terms import ST


def entailed(triples: Iterable[Triple], iris: Iris) -> Triples:
    """The triples that follow from those of a named graph."""
    every = list(triples)
    stated = {subject for subject, property_, _ in every if property_ == ST.ofHost}
    found = Triples()
    for node, property_, value in every:
        if property_ == RDF.type:
            found += [(node, RDF.type, one) for one in superclasses().get(value, ())]
            if node not in stated:
                found.link(node, {ST.ofHost: iris.host_of(node)})
    return Triples(dict.fromkeys(found))


def with_entailed(
    graphs: Mapping[URIRef, Triples], iris: Iris
) -> dict[URIRef, Triples]:
    """Some graphs to write, and the graphs of what follows from them."""
    following = {
        iris.entailed_graph(graph): entailed(triples, iris)
        for graph, triples in graphs.items()
    }
    return {**graphs, **{graph: some for graph, some in following.items() if some}}


def drop(iris: Iris, *graphs: URIRef) -> str:
    """The SPARQL Update that drops graphs, with what follows from them."""
    every = (each for one in graphs for each in (one, iris.entailed_graph(one)))
    return " ;\n".join(f"DROP SILENT GRAPH <{graph}>" for graph in every)


def in_both(iris: Iris, graph: URIRef, pattern: str) -> str:
    """A pattern in a graph and in that of what follows from it, as ``?graph``."""
    both = f"<{graph}> <{iris.entailed_graph(graph)}>"
    return f"VALUES ?graph {{ {both} }} GRAPH ?graph {{ {pattern} }}"


def derive_again(twin: Endpoint, iris: Iris, graph: URIRef) -> None:
    """Replace what follows from a stored graph."""
    found = twin.select(
        f"""SELECT ?node ?property ?value {{
          VALUES ?property {{ <{RDF.type}> <{ST.ofHost}> }}
          GRAPH <{graph}> {{ ?node ?property ?value }} }}"""
    )
    triples = Triples(tuple(row) for row in found.rows)  # type: ignore[misc]
    target = iris.entailed_graph(graph)
    following = insertion({target: entailed(triples, iris)})
    twin.update(f"DROP SILENT GRAPH <{target}> ;\n{following}")
