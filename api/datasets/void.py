"""The datasets in the terms of VoID: https://www.w3.org/TR/void/."""

from rdflib import DCTERMS, FOAF, RDF, Graph, Literal, URIRef
from rdflib.namespace import VOID

from api.datasets.graphs import FORMATS, SD, add_graphs
from api.datasets.service import RESULT_FORMATS
from api.nodes import Node
from api.services import Services
from ontology.terms import PREFIXES, ST
from queries.terms import iri_term

PATH = "/.well-known/void"
_TWIN = (
    "Machines, their components, what can be measured of them, sampling plans and "
    "recorded runs: one named graph for each, and the ontology."
)
_HISTORY = (
    "Earlier states of hosts. It has no endpoint of its own: /sparql?asof=TIME and "
    "/history/{host} read it."
)
_VOCABULARIES = (*PREFIXES.values(), "http://www.w3.org/ns/sosa/")
# One resource of each class is an example.
_EXAMPLES = (ST.ComputeNode, ST.HardwareThread, ST.Cache, ST.Metric, ST.SWTelemetry)
_RDF_FORMATS = [name for name in RESULT_FORMATS if not name.startswith("SPARQL")]


async def void_description(services: Services) -> Node:
    """Describe the datasets ``twin`` and ``history``; raises EndpointError."""
    base = services.settings.base.rstrip("/")
    document = URIRef(f"{base}{PATH}")
    twin, history = URIRef(f"{document}#twin"), URIRef(f"{document}#history")
    node = Node(document, Graph())
    _add_document(node.graph, document, twin, history)
    _add_dataset(node.graph, twin, base, "twin", _TWIN)
    _add_dataset(node.graph, history, base, "history", _HISTORY)
    _add_twin(node.graph, twin, base)
    for example in await _examples(services):
        node.graph.add((twin, VOID.exampleResource, example))
    add_graphs(node, twin, await services.twin_counts.read(), services.iris)
    add_graphs(node, history, await services.history_counts.read(), services.iris)
    return node


def _add_document(
    graph: Graph, document: URIRef, twin: URIRef, history: URIRef
) -> None:
    graph.add((document, RDF.type, VOID.DatasetDescription))
    graph.add((document, DCTERMS.title, Literal("The datasets of SuperTwin")))
    graph.add((document, FOAF.primaryTopic, twin))
    graph.add((document, FOAF.topic, history))


def _add_dataset(graph: Graph, iri: URIRef, base: str, name: str, about: str) -> None:
    graph.add((iri, RDF.type, VOID.Dataset))
    graph.add((iri, RDF.type, SD.Dataset))
    graph.add((iri, DCTERMS.title, Literal(name)))
    graph.add((iri, DCTERMS.description, Literal(about)))
    graph.add((iri, VOID.uriSpace, Literal(f"{base}/")))
    for vocabulary in _VOCABULARIES:
        graph.add((iri, VOID.vocabulary, URIRef(vocabulary)))


def _add_twin(graph: Graph, twin: URIRef, base: str) -> None:
    graph.add((twin, FOAF.homepage, URIRef(f"{base}/")))
    graph.add((twin, VOID.sparqlEndpoint, URIRef(f"{base}/sparql")))
    graph.add((twin, VOID.rootResource, URIRef(f"{base}/twin")))
    for name in _RDF_FORMATS:
        graph.add((twin, VOID.feature, FORMATS[name]))


async def _examples(services: Services) -> list[URIRef]:
    parts = (
        f"{{ SELECT ?node {{ ?node a {iri_term(kind)} }} LIMIT 1 }}"
        for kind in _EXAMPLES
    )
    rows = await services.graph.rows(f"SELECT ?node {{ {' UNION '.join(parts)} }}")
    return [URIRef(row["node"].value) for row in rows]
