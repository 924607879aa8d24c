"""The SPARQL service in the terms of SPARQL 1.1 Service Description.

https://www.w3.org/TR/sparql11-service-description/
"""

from functools import cache

from rdflib import DCTERMS, RDF, RDFS, Graph, Literal, URIRef
from rdflib.namespace import SKOS

from api.datasets.graphs import FORMATS, SD, add_graphs
from api.nodes import Node
from api.services import Services
from ontology.load import ontology_graph

RESULT_FORMATS = (
    *("SPARQL_Results_JSON", "SPARQL_Results_XML"),
    *("SPARQL_Results_CSV", "SPARQL_Results_TSV"),
    *("Turtle", "N-Triples", "JSON-LD", "RDF_XML"),
)
# The superclasses that follow are triples in graphs of their own, so queries match
# what is stored and nothing else.
ENTAILMENT = URIRef("http://www.w3.org/ns/entailment/Simple")
_ABOUT = (
    "Queries of SPARQL 1.1; no updates. explain=true answers the requests that a query "
    "sends to the series store, asof=TIME runs it on the twins of hosts as they were."
)
_DATASET = (
    "The superclasses of instances are stored in the graphs entailed/…, so they match "
    "without a reasoner. Samples are not stored: the property functions read them."
)
# The ontology says so of each property that is a function.
_FUNCTION = "Not stored: it is a function of queries"


async def service_description(services: Services) -> Node:
    """Describe the service and its dataset; raises EndpointError."""
    url = f"{services.settings.base.rstrip('/')}/sparql"
    dataset = URIRef(f"{url}#dataset")
    node = Node(URIRef(f"{url}#service"), Graph())
    _add_service(node.graph, node.iri, URIRef(url), dataset)
    _add_dataset(node.graph, dataset)
    add_graphs(node, dataset, await services.twin_counts.read(), services.iris)
    return node


def _add_service(graph: Graph, service: URIRef, url: URIRef, dataset: URIRef) -> None:
    graph.add((service, RDF.type, SD.Service))
    graph.add((service, DCTERMS.title, Literal("The SPARQL service of SuperTwin")))
    graph.add((service, RDFS.comment, Literal(_ABOUT)))
    graph.add((service, SD.endpoint, url))
    graph.add((service, SD.supportedLanguage, SD.SPARQL11Query))
    graph.add((service, SD.feature, SD.UnionDefaultGraph))
    graph.add((service, SD.defaultEntailmentRegime, ENTAILMENT))
    graph.add((service, SD.defaultDataset, dataset))
    for name in RESULT_FORMATS:
        graph.add((service, SD.resultFormat, FORMATS[name]))
    for function in property_functions():
        graph.add((service, SD.propertyFeature, function))


def _add_dataset(graph: Graph, dataset: URIRef) -> None:
    union = URIRef(f"{dataset}-default")
    graph.add((dataset, RDF.type, SD.Dataset))
    graph.add((dataset, RDFS.comment, Literal(_DATASET)))
    graph.add((dataset, SD.defaultGraph, union))
    graph.add((union, RDF.type, SD.Graph))
    graph.add((union, RDFS.comment, Literal("The union of all named graphs.")))


@cache
def property_functions() -> tuple[URIRef, ...]:
    """Return our functions that a query calls as properties."""
    found = ontology_graph().subject_objects(SKOS.scopeNote)
    return tuple(
        sorted(
            term
            for term, note in found
            if isinstance(term, URIRef) and str(note).startswith(_FUNCTION)
        )
    )
