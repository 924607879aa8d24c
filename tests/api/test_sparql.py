"""The SPARQL protocol against a real Fuseki."""

import csv
import io
from xml.etree import ElementTree as ET

import httpx
import pytest
from rdflib import Graph

SELECT = "SELECT ?s { ?s a <https://w3id.org/supertwin/ns#ComputeNode> } ORDER BY ?s"
CONSTRUCT = "CONSTRUCT WHERE { ?s a <https://w3id.org/supertwin/ns#Core> }"
ASK = "ASK { ?s a <https://w3id.org/supertwin/ns#Core> }"


def get(
    api: httpx.Client, query: str, accept: str = "*/*", **more: str
) -> httpx.Response:
    params = {"query": query, **more}
    return api.get("/sparql", params=params, headers={"Accept": accept})


def hosts(answer: httpx.Response) -> list[str]:
    rows = answer.json()["results"]["bindings"]
    return [row["s"]["value"].rpartition("/")[2] for row in rows]


@pytest.mark.parametrize("way", ["get", "form", "direct"])
def test_query_can_be_sent_in_three_ways(api: httpx.Client, way: str) -> None:
    kind = {"Content-Type": "application/sparql-query; charset=utf-8"}
    answer = {
        "get": lambda: get(api, SELECT),
        "form": lambda: api.post("/sparql", data={"query": SELECT}),
        "direct": lambda: api.post("/sparql", content=SELECT, headers=kind),
    }[way]()
    assert answer.headers["content-type"] == "application/sparql-results+json"
    assert answer.headers["vary"] == "Accept, Accept-Encoding"
    assert hosts(answer) == ["n1", "n2"]


def test_tables_are_served_in_every_format(api: httpx.Client) -> None:
    for media_type in ("application/sparql-results+json", "application/json"):
        answer = get(api, SELECT, media_type)
        assert answer.headers["content-type"] == media_type
        assert hosts(answer) == ["n1", "n2"]
    table = list(csv.reader(io.StringIO(get(api, SELECT, "text/csv").text)))
    assert [row[0][-2:] for row in table[1:]] == ["n1", "n2"]
    tsv = get(api, SELECT, "text/tab-separated-values")
    assert tsv.headers["content-type"] == "text/tab-separated-values; charset=utf-8"
    assert tsv.text.splitlines()[0] == "?s"
    root = ET.fromstring(get(api, SELECT, "application/sparql-results+xml").text)
    assert len(root.findall(".//{*}result")) == 2


def test_ask_is_a_table_too(api: httpx.Client) -> None:
    assert get(api, ASK).json()["boolean"] is True
    xml = get(api, ASK, "application/sparql-results+xml").text
    assert "<boolean>true</boolean>" in xml
    assert "true" in get(api, ASK, "text/csv").text


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")
@pytest.mark.parametrize(
    ("media_type", "format_"),
    [
        ("text/turtle", "turtle"),
        ("application/n-triples", "nt"),
        ("application/ld+json", "json-ld"),
        ("application/rdf+xml", "xml"),
    ],
)
def test_triples_are_served_in_every_format(
    api: httpx.Client, media_type: str, format_: str
) -> None:
    for query in (CONSTRUCT, CONSTRUCT.replace("CONSTRUCT WHERE", "DESCRIBE ?s")):
        answer = get(api, query, media_type)
        assert answer.headers["content-type"].partition(";")[0] == media_type
        assert len(Graph().parse(data=answer.text, format=format_)) >= 1


def test_triples_are_turtle_by_default(api: httpx.Client) -> None:
    answer = get(api, CONSTRUCT)
    assert answer.headers["content-type"] == "text/turtle; charset=utf-8"


@pytest.mark.parametrize(
    ("query", "accept"),
    [
        (SELECT, "text/turtle"),
        (SELECT, "application/ld+json"),
        (ASK, "application/n-triples"),
        (CONSTRUCT, "text/csv"),
        (CONSTRUCT, "application/sparql-results+json"),
        (SELECT, "image/png"),
        (SELECT, "*/*;q=0"),
    ],
)
def test_unsupported_format_is_406(api: httpx.Client, query: str, accept: str) -> None:
    answer = get(api, query, accept)
    assert answer.status_code == 406
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["vary"] == "Accept"
    assert accept in answer.json()["detail"]
    assert answer.json()["available"]


def test_graph_parameters_of_the_protocol_are_passed_on(
    api: httpx.Client, base: str
) -> None:
    graph = f"{base}/graph/twin/n2"
    assert hosts(get(api, SELECT, **{"default-graph-uri": graph})) == ["n2"]
    named = SELECT.replace("{", "{ GRAPH ?g {", 1).replace("} ORDER", "}} ORDER")
    form = {"query": named, "named-graph-uri": graph}
    assert hosts(api.post("/sparql", data=form)) == ["n2"]
    direct = api.post(
        "/sparql",
        content=SELECT,
        params={"default-graph-uri": [graph, f"{base}/graph/twin/n1"]},
        headers={"Content-Type": "application/sparql-query"},
    )
    assert hosts(direct) == ["n1", "n2"]


def test_head_is_get_without_the_body(api: httpx.Client) -> None:
    answer = api.head("/sparql", params={"query": SELECT})
    assert answer.status_code == 200 and answer.content == b""
    assert int(answer.headers["content-length"]) == len(get(api, SELECT).content)


def test_other_origins_are_refused(api: httpx.Client) -> None:
    answer = api.get(
        "/sparql", params={"query": ASK}, headers={"Origin": "http://evil.example"}
    )
    assert not [name for name in answer.headers if name.startswith("access-control")]
    preflight = api.options(
        "/sparql",
        headers={
            "Origin": "http://evil.example",
            "Access-Control-Request-Method": "POST",
        },
    )
    assert preflight.status_code == 403
    assert not [n for n in preflight.headers if n.startswith("access-control")]
