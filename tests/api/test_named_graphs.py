"""Named graphs: each at its IRI, and in answers of CONSTRUCT with GRAPH."""

import httpx
import pytest
from rdflib import Dataset, Graph, URIRef
from rdflib.compare import isomorphic

QUADS = "CONSTRUCT { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o } }"
TYPES = {
    "text/turtle": "turtle",
    "application/n-triples": "nt",
    "application/rdf+xml": "xml",
    "application/ld+json": "json-ld",
}


def get(api: httpx.Client, path: str, accept: str = "*/*") -> httpx.Response:
    return api.get(path, headers={"Accept": accept})


def triples(api: httpx.Client, name: str) -> Graph:
    query = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH <{name}> {{ ?s ?p ?o }} }}"
    answer = api.get("/sparql", params={"query": query})
    return Graph().parse(data=answer.text, format="turtle")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("media_type", "form"),
    [("application/trig", "trig"), ("application/n-quads", "nquads")],
)
def test_graph_is_served_with_its_name(
    api: httpx.Client, base: str, media_type: str, form: str
) -> None:
    name = f"{base}/graph/twin/n1"
    answer = get(api, "/graph/twin/n1", media_type)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == media_type
    found = Dataset()
    found.parse(data=answer.text, format=form)
    named = [each for each in found.graphs() if len(each)]
    assert [each.identifier for each in named] == [URIRef(name)]
    assert isomorphic(named[0], triples(api, name))
    assert api.get("/graph/twin/n1?format=" + form).text == answer.text


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("media_type", TYPES)
def test_graph_is_served_as_triples(
    api: httpx.Client, base: str, media_type: str
) -> None:
    answer = get(api, "/graph/metrics", media_type)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith(media_type)
    found = Graph().parse(data=answer.text, format=TYPES[media_type])
    assert isomorphic(found, triples(api, f"{base}/graph/metrics"))


def test_graphs_are_trig_by_default(api: httpx.Client) -> None:
    assert get(api, "/graph/metrics").headers["content-type"] == "application/trig"
    assert get(api, "/graph/metrics", "text/html").status_code == 406
    refused = api.get("/graph/metrics?format=html")
    assert refused.status_code == 406
    assert refused.json()["available"][0] == "trig"


def test_graph_of_the_history_is_found(sampled: httpx.Client) -> None:
    answer = get(sampled, "/graph/history/n1", "application/n-quads")
    assert answer.status_code == 200
    assert "/graph/history/n1>" in answer.text


@pytest.mark.parametrize("path", ["none", "twin/", "twin/n1/x", "a%20b", "%3E", ""])
def test_unknown_graph_is_404(api: httpx.Client, path: str) -> None:
    answer = api.get(f"/graph/{path}")
    assert answer.status_code == 404
    assert answer.json()["type"].endswith("/unknown-graph")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_construct_with_graphs_keeps_them(api: httpx.Client, base: str) -> None:
    answer = api.get("/sparql", params={"query": QUADS})
    assert answer.headers["content-type"] == "application/trig"
    found = Dataset()
    found.parse(data=answer.text, format="trig")
    names = {str(each.identifier) for each in found.graphs() if len(each)}
    assert {f"{base}/graph/twin/n1", f"{base}/graph/metrics"} <= names


@pytest.mark.parametrize("accept", ["text/turtle", "application/n-triples"])
def test_construct_with_graphs_is_not_cut_to_triples(
    api: httpx.Client, accept: str
) -> None:
    headers = {"Accept": accept}
    answer = api.get("/sparql", params={"query": QUADS}, headers=headers)
    assert answer.status_code == 406
    assert "application/trig" in answer.json()["available"]


def test_triples_are_also_served_as_trig(api: httpx.Client) -> None:
    query = "CONSTRUCT WHERE { ?s a <https://w3id.org/supertwin/ns#Core> }"
    headers = {"Accept": "application/trig"}
    answer = api.get("/sparql", params={"query": query}, headers=headers)
    assert answer.headers["content-type"] == "application/trig"
    assert len(Graph().parse(data=answer.text, format="turtle")) > 0
