"""A host as DTDL over HTTP."""

import asyncio
import json

import httpx
import pytest
from rdflib import Graph
from rdflib.compare import isomorphic

from dtdl.read import read
from tests.api.servers import Api


def ask(api: httpx.Client, **query: str) -> httpx.Response:
    return api.get("/export/dtdl", params=query)


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_host_is_exported_in_each_version(api: httpx.Client, version: str) -> None:
    answer = ask(api, host="n1", version=version)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    name = f'inline; filename="n1.dtdl{version}.json"'
    assert answer.headers["content-disposition"] == name
    contexts = [json.dumps(i["@context"]) for i in answer.json()]
    assert all(f"dtmi:dtdl:context;{version}" in context for context in contexts)


def test_default_version_is_two_and_holds_the_graph(
    api: httpx.Client, base: str
) -> None:
    found = read(ask(api, host="n1").content, base)
    assert found.whole
    graph = Graph()
    for triple in found.triples:
        graph.add(triple)
    inside = f"GRAPH <{base}/graph/twin/n1>"
    text = f"CONSTRUCT {{ ?s ?p ?o }} {{ {inside} {{ ?s ?p ?o }} }}"
    answer = api.get("/sparql", params={"query": text}, headers={"Accept": NT})
    host = Graph().parse(data=answer.text, format="nt")
    assert len(host) > 20
    assert isomorphic(graph & host, host)


NT = "application/n-triples"


@pytest.mark.parametrize("host", ["n9", "a/b", "<x>", "..", "\ud7ff"])
def test_unknown_host_is_404_and_lists_the_known(api: httpx.Client, host: str) -> None:
    answer = ask(api, host=host)
    assert answer.status_code == 404
    assert "known: " in answer.json()["detail"]


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"host": ""},
        {"host": "n1", "version": "5"},
        {"host": "n1", "version": "x"},
    ],
)
def test_invalid_parameters_are_refused(
    api: httpx.Client, query: dict[str, str]
) -> None:
    answer = ask(api, **query)
    assert answer.status_code in (404, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_page_of_a_host_links_to_the_export(api: httpx.Client) -> None:
    page = api.get("/twin/n1", headers={"Accept": "text/html"}).text
    assert "/export/dtdl?host=n1" in page
    part = api.get("/twin/n1/thread/0", headers={"Accept": "text/html"}).text
    assert "/export/dtdl" not in part


def test_concurrent_exports_are_all_answered(api_url: str) -> None:
    async def all_of_them() -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=api_url, timeout=120) as client:
            asked = (client.get("/export/dtdl?host=n1") for _ in range(12))
            return await asyncio.gather(*asked)

    answers = asyncio.run(all_of_them())
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1


def test_export_has_the_size_limit_of_every_answer(
    tmp_path_factory: pytest.TempPathFactory, fuseki: str, base: str
) -> None:
    folder = tmp_path_factory.mktemp("bounded")
    with Api(folder, base=base, fuseki_url=fuseki, query_max_bytes="2000") as server:
        answer = httpx.get(f"{server.url}/export/dtdl?host=n1", timeout=120)
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"
