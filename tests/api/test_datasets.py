"""The service description and VoID: what they say is true, in every format."""

import json

import httpx
import pytest
from rdflib import DCTERMS, RDF, Graph, Literal, Namespace, URIRef
from rdflib.compare import isomorphic
from rdflib.namespace import FOAF, VOID

from api.datasets.service import property_functions
from ontology.load import context
from ontology.terms import ST

SD = Namespace("http://www.w3.org/ns/sparql-service-description#")
FORMATS = Namespace("http://www.w3.org/ns/formats/")
VOID_PATH = "/.well-known/void"
PATHS = ("/sparql", VOID_PATH)


def described(api: httpx.Client, path: str) -> Graph:
    answer = api.get(path, headers={"Accept": "text/turtle"})
    assert answer.status_code == 200, answer.text
    return Graph().parse(data=answer.text, format="turtle")


def count(api: httpx.Client, pattern: str) -> int:
    query = f"SELECT (COUNT(*) AS ?n) {{ {pattern} }}"
    rows = api.get("/sparql", params={"query": query}).json()["results"]["bindings"]
    return int(rows[0]["n"]["value"])


def triples_of(graph: Graph, name: str) -> int | None:
    """Return the number of triples that a description gives for a named graph."""
    for named in graph.subjects(SD.name, URIRef(name)):
        contents = graph.value(named, SD.graph)
        return int(str(graph.value(contents, VOID.triples)))
    return None


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")
@pytest.mark.parametrize("path", PATHS)
def test_description_is_the_same_in_every_format(api: httpx.Client, path: str) -> None:
    graph = described(api, path)
    for media_type, form in (
        ("application/rdf+xml", "xml"),
        ("application/n-triples", "nt"),
        ("application/ld+json", "json-ld"),
    ):
        answer = api.get(path, headers={"Accept": media_type})
        assert answer.headers["content-type"] == media_type
        text = answer.text
        if form == "json-ld":
            text = json.dumps(answer.json() | context())
        assert isomorphic(Graph().parse(data=text, format=form), graph), form
    assert api.get(path).headers["content-type"] == "text/turtle; charset=utf-8"
    assert api.get(path, headers={"Accept": "text/csv"}).status_code == 406


def test_browser_without_a_query_gets_the_editor(api: httpx.Client) -> None:
    answer = api.get("/sparql", headers={"Accept": "text/html,*/*;q=0.8"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/editor"
    assert answer.headers["vary"] == "Accept"


def test_service_is_described_only_without_parameters(
    api: httpx.Client, base: str
) -> None:
    graph = f"{base}/graph/twin/n1"
    answer = api.get("/sparql", params={"default-graph-uri": graph})
    assert answer.status_code == 400
    assert answer.json()["type"].endswith("/one-query")


def test_service_names_its_endpoint_and_features(api: httpx.Client, base: str) -> None:
    graph = described(api, "/sparql")
    service = graph.value(predicate=RDF.type, object=SD.Service)
    facts = {*graph.predicate_objects(service)}
    assert {
        (SD.endpoint, URIRef(f"{base}/sparql")),
        (SD.supportedLanguage, SD.SPARQL11Query),
        (SD.feature, SD.UnionDefaultGraph),
        (SD.resultFormat, FORMATS.SPARQL_Results_JSON),
        (SD.resultFormat, FORMATS.Turtle),
        (SD.propertyFeature, ST.last),
        (SD.propertyFeature, ST.distrib),
        (
            SD.defaultEntailmentRegime,
            URIRef("http://www.w3.org/ns/entailment/Simple"),
        ),
    } <= facts


def test_each_property_feature_is_a_function(sampled: httpx.Client) -> None:
    functions = {*described(sampled, "/sparql").objects(None, SD.propertyFeature)}
    assert functions == {*property_functions()} and len(functions) > 10
    for function in functions:
        query = f"SELECT * {{ (1 2 3 4 5 6 7 8) <{function}> () }}"
        answer = sampled.get("/sparql", params={"query": query})
        assert answer.status_code == 400, (function, answer.text)
        assert "is not a function" not in answer.json()["detail"], function


def test_terms_that_are_no_functions_are_refused(sampled: httpx.Client) -> None:
    query = f"SELECT * {{ ?s <{ST.hostname}> (1 2) }}"
    answer = sampled.get("/sparql", params={"query": query})
    assert "is not a function" in answer.json()["detail"]


@pytest.mark.parametrize("path", PATHS)
def test_graphs_are_counted_again_after_each_write(
    api: httpx.Client, fuseki: str, base: str, path: str
) -> None:
    name = f"{base}/graph/counted"
    data = f"DATA {{ GRAPH <{name}> {{ <urn:s> <urn:p> 1 , 2 }} }}"
    assert triples_of(described(api, path), name) is None
    for verb, expected in (("INSERT", 2), ("DELETE", None)):
        update = httpx.post(f"{fuseki}/twin/update", data={"update": f"{verb} {data}"})
        assert update.is_success, update.text
        assert triples_of(described(api, path), name) == expected


@pytest.mark.parametrize("path", PATHS)
def test_counts_are_those_of_queries(api: httpx.Client, base: str, path: str) -> None:
    graph, name = described(api, path), f"{base}/graph/twin/n1"
    assert triples_of(graph, name) == count(api, f"GRAPH <{name}> {{ ?s ?p ?o }}")
    total = count(api, "GRAPH ?g { ?s ?p ?o }")
    assert Literal(total) in {*graph.objects(None, VOID.triples)}


def test_void_leads_to_both_datasets(sampled: httpx.Client, base: str) -> None:
    graph = described(sampled, VOID_PATH)
    document = URIRef(f"{base}{VOID_PATH}")
    assert (document, RDF.type, VOID.DatasetDescription) in graph
    twin = graph.value(document, FOAF.primaryTopic)
    history = graph.value(document, FOAF.topic)
    assert graph.value(twin, VOID.sparqlEndpoint) == URIRef(f"{base}/sparql")
    assert graph.value(history, VOID.sparqlEndpoint) is None
    assert str(graph.value(history, DCTERMS.title)) == "history"
    assert int(str(graph.value(history, VOID.triples))) > 0
    assert str(graph.value(twin, VOID.uriSpace)) == f"{base}/"
    assert URIRef(str(ST)) in {*graph.objects(twin, VOID.vocabulary)}
    for example in graph.objects(twin, VOID.exampleResource):
        path = str(example).removeprefix(base)
        assert sampled.get(path).status_code == 200, path
