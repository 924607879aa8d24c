"""JSON-LD frames and depth: nested or not, the triples are those of the graph."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from rdflib import Graph, Literal, URIRef
from rdflib.compare import isomorphic

from api.json_ld_nesting import Nesting
from ontology.load import context
from ontology.terms import PREFIXES, ST
from tests.api.watched import BASE, LARGE, Watched

pytestmark = pytest.mark.filterwarnings(
    "ignore:ConjunctiveGraph is deprecated:DeprecationWarning"
)
KINDS = ("Socket", "Core", "HardwareThread", "Cache")
RUN = "/observation/framed"


@pytest.fixture(scope="module")
def client(watched: Watched) -> Iterator[httpx.Client]:
    url = str(watched.client.base_url)
    with httpx.Client(base_url=url, timeout=120, trust_env=False) as found:
        yield found


@pytest.fixture(scope="module")
def run(fuseki: str, base: str) -> Iterator[str]:
    """Add a run with two figures, a summary and its surroundings; return its IRI."""
    node = f"{base}{RUN}"
    graph = f"{base}/graph/observation/framed"
    triples = f"""<{node}> a st:ObservationInterface ; st:command "./solver" ;
        st:hasFigure <{node}/figure/a> , <{node}/figure/b> ;
        st:hasSummary <{node}/summary/m/~> ; st:ranIn <{node}/surroundings> .
      <{node}/figure/a> a st:DerivedFigure ; st:figureName "a" ; st:figureValue 1.5 .
      <{node}/figure/b> a st:DerivedFigure ; st:figureName "b" .
      <{node}/summary/m/~> a st:SeriesSummary ; st:sampleCount 3 .
      <{node}/surroundings> a st:Surroundings ; st:kernelRelease "6.1" ."""
    with stored_graph(fuseki, graph, triples):
        yield node


@pytest.fixture(scope="module")
def benchmark(fuseki: str, base: str) -> Iterator[str]:
    """Add a benchmark with two results; return its IRI."""
    node = f"{base}/benchmark/framed"
    triples = f"""<{node}> a st:BenchmarkInterface ; rdfs:label "STREAM" ;
        st:hasResult <{node}/r/one>, <{node}/r/two> .
      <{node}/r/one> a st:BenchmarkResult ; st:field "triad" ; st:threadCount 1 .
      <{node}/r/two> a st:BenchmarkResult ; st:field "triad" ; st:threadCount 2 ."""
    with stored_graph(fuseki, f"{base}/graph/benchmark/framed", triples):
        yield node


@contextmanager
def stored_graph(fuseki: str, graph: str, triples: str) -> Iterator[None]:
    prefixes = "".join(f"PREFIX {name}: <{iri}> " for name, iri in PREFIXES.items())
    update = f"{prefixes} INSERT DATA {{ GRAPH <{graph}> {{ {triples} }} }}"
    url = f"{fuseki}/twin/update"
    httpx.post(url, data={"update": update}).raise_for_status()
    yield
    httpx.post(url, data={"update": f"DROP GRAPH <{graph}>"}).raise_for_status()


def parsed(document: dict[str, Any]) -> Graph:
    """Read a framed document, with the context that it refers to."""
    url, extra = document["@context"]
    assert url.endswith("/context.jsonld")
    linked = document | {"@context": [context()["@context"], extra]}
    return Graph().parse(data=json.dumps(linked), format="json-ld")


def walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for part in node.get("parts", ()):
        yield from walk(part)


def stored(client: httpx.Client, pattern: str) -> Graph:
    query = (
        f"PREFIX st: <{ST}> CONSTRUCT {{ ?s ?p ?o }} WHERE {{ {pattern} "
        f"GRAPH <{BASE}/graph/twin/{LARGE}> {{ ?s ?p ?o }} }}"
    )
    answer = client.get("/sparql", params={"query": query})
    return Graph().parse(data=answer.text, format="turtle")


def test_frame_of_a_host_holds_its_topology(client: httpx.Client) -> None:
    answer = client.get(f"/twin/{LARGE}?frame=host")
    assert answer.headers["content-type"] == "application/ld+json"
    document = answer.json()
    assert document["@id"] == f"{BASE}/twin/{LARGE}"
    socket = document["parts"][0]
    assert "Socket" in str(socket["@type"])
    found = [*walk(document)]
    assert len({node["@id"] for node in found}) == len(found) > 300
    for kind in KINDS:
        count = sum(kind in str(node["@type"]) for node in found)
        expected = stored(client, f"?s a st:{kind} FILTER CONTAINS(STR(?s), '{LARGE}')")
        assert count == len({*expected.subjects()}), kind
    core = next(part for part in socket["parts"] if "Core" in str(part["@type"]))
    kinds = {str(part["@type"]) for part in core["parts"]}
    assert any("HardwareThread" in kind for kind in kinds)
    assert any("Cache" in kind for kind in kinds)
    assert "isPartOf" not in core


def test_frame_of_a_host_has_the_triples_of_the_graph(client: httpx.Client) -> None:
    document = client.get(f"/twin/{LARGE}?frame=host").json()
    node = f"<{BASE}/twin/{LARGE}>"
    kinds = " ".join(f"st:{kind}" for kind in KINDS)
    of_host = stored(
        client,
        f"{{ BIND ({node} AS ?s) }} UNION "
        f"{{ VALUES ?kind {{ {kinds} }} ?s st:ofHost {node} ; a ?kind }}",
    )
    found = parsed(document)
    missing = {*of_host} - {*found}
    assert not missing
    assert {*found.subjects()} == {*of_host.subjects()}


def test_frame_of_a_run_holds_its_figures(api: httpx.Client, run: str) -> None:
    answer = api.get(f"{RUN}?frame=run")
    document = answer.json()
    assert document["@id"] == run
    names = [figure["figureName"] for figure in document["hasFigure"]]
    assert names == ["a", "b"]
    assert document["hasSummary"][0]["sampleCount"] == 3
    assert document["ranIn"][0]["kernelRelease"] == "6.1"
    of_run = f"GRAPH ?g {{ ?s ?p ?o }} FILTER STRSTARTS(STR(?s), '{run}')"
    query = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ {of_run} }}"
    whole = Graph().parse(data=api.get("/sparql", params={"query": query}).text)
    assert isomorphic(parsed(document), whole)


def test_frame_of_a_benchmark_holds_its_results(
    api: httpx.Client, benchmark: str
) -> None:
    document = api.get("/benchmark/framed?frame=benchmark").json()
    assert (document["@id"], document["label"]) == (benchmark, "STREAM")
    results = document["hasResult"]
    assert [(each["field"], each["threadCount"]) for each in results] == [
        ("triad", 1),
        ("triad", 2),
    ]


@pytest.mark.parametrize("depth", [1, 2])
def test_depth_adds_the_parts(client: httpx.Client, depth: int) -> None:
    path = f"/twin/{LARGE}/socket/socket-0"
    headers = {"Accept": "text/turtle"}
    plain = Graph().parse(data=client.get(path, headers=headers).text)
    deep = Graph().parse(data=client.get(f"{path}?depth={depth}", headers=headers).text)
    assert {*plain} <= {*deep}
    core, thread = (
        URIRef(f"{BASE}/twin/{LARGE}/{name}") for name in ("core/core-0", "thread/0")
    )
    assert (core, ST.osIndex, None) in deep
    assert ((thread, ST.osIndex, Literal(0)) in deep) is (depth == 2)
    json_ld = client.get(f"{path}?depth={depth}").json()
    assert len(json_ld["@graph"]) == len({*deep.subjects()})


def test_framed_document_is_kept_and_tagged(client: httpx.Client) -> None:
    first, second = (client.get(f"/twin/{LARGE}?frame=host") for _ in range(2))
    assert first.content == second.content
    assert first.headers["etag"] == second.headers["etag"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("?frame=run", 422, "invalid-request"),
        ("?frame=x", 422, "invalid-request"),
        ("?depth=6", 422, "invalid-request"),
        ("?depth=-1", 422, "invalid-request"),
        ("?frame=host&depth=1", 400, "frame-and-depth"),
        ("?frame=host&format=turtle", 406, "not-acceptable"),
        ("?depth=1&format=html", 406, "not-acceptable"),
        ("/thread/0?frame=host", 400, "unknown-parameter"),
    ],
)
def test_bad_frame_or_depth_is_one_clear_error(
    api: httpx.Client, path: str, status: int, code: str
) -> None:
    answer = api.get(f"/twin/n1{path}")
    assert answer.status_code == status, answer.text
    problem = answer.json()
    assert problem["type"].endswith(f"/{code}") and "\n" not in problem["detail"]


def test_unknown_nodes_have_no_frame(api: httpx.Client) -> None:
    assert api.get("/twin/none?frame=host").status_code == 404
    assert api.get("/observation/none?frame=run").status_code == 404
    answer = api.get("/benchmark/none?frame=benchmark")
    assert answer.status_code == 404
    assert answer.json()["type"].endswith("/no-such-benchmark")
    assert api.get("/twin/n1/core/none?depth=1").status_code == 404


def test_node_with_two_wholes_is_nested_once() -> None:
    nodes = {
        "a": {"@id": "a"},
        "b": {"@id": "b", "isPartOf": "a"},
        "c": {"@id": "c", "isPartOf": ["a", "b"]},
        "d": {"@id": "d", "isPartOf": "elsewhere"},
    }
    assert Nesting(nodes, ()).within("a") == [
        {
            "@id": "a",
            "parts": [{"@id": "b"}, {"@id": "c", "isPartOf": ["b"]}],
        },
        {"@id": "d", "isPartOf": "elsewhere"},
    ]


def test_circle_of_parts_ends() -> None:
    nodes = {
        "a": {"@id": "a", "isPartOf": "b", "hasFigure": "a"},
        "b": {"@id": "b", "isPartOf": "a"},
    }
    found = Nesting(nodes, {"hasFigure"}).within("a")
    assert found == [
        {"@id": "a", "isPartOf": "b", "hasFigure": ["a"], "parts": [{"@id": "b"}]}
    ]
