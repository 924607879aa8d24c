"""Every IRI of the twin answers, as JSON-LD, Turtle or HTML."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from rdflib import Graph, URIRef
from rdflib.compare import isomorphic
from rdflib.namespace import RDFS

from api import nodes
from api.app import create_app
from core.settings.settings import Settings
from ontology.load import context
from ontology.terms import ST

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
NODES = [
    "/twin/n1",
    "/twin/n1/socket/socket-0",
    "/twin/n1/thread/0",
    "/twin/n1/cache/l2-0",
    "/twin/n1/disk/a~2Fb",
    "/twin/n1/instance/60.0/cpu0",
    "/twin/n1/instance/60.2/1~20minute",
    "/twin/n1/plan/monitor.kernel.all.load",
    "/metric/kernel.percpu.cpu.user",
    "/metric/mem.util.free~~a1b2",
    "/indom/60.0",
    "/pmu/spr",
    "/pmu/spr/INST_RETIRED",
    "/pmu/spr/INST_RETIRED~3AANY",
]


def get(api: httpx.Client, path: str, accept: str = "*/*") -> httpx.Response:
    return api.get(path, headers={"Accept": accept})


def turtle(api: httpx.Client, path: str) -> Graph:
    answer = get(api, path, "text/turtle")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/turtle; charset=utf-8"
    return Graph().parse(data=answer.text, format="turtle")


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")
@pytest.mark.parametrize("path", [*NODES, "/twin"])
def test_all_formats_hold_the_same_graph(
    api: httpx.Client, base: str, path: str
) -> None:
    graph = turtle(api, path)
    assert len(graph) > 0
    answer = get(api, path, "application/ld+json")
    assert answer.headers["content-type"] == "application/ld+json"
    assert answer.headers["vary"] == "Accept, Accept-Encoding"
    document = answer.json()
    assert document["@context"] == f"{base}/context.jsonld"
    linked = json.dumps(document | context())
    assert isomorphic(Graph().parse(data=linked, format="json-ld"), graph)
    triples = get(api, path, "application/n-triples").text
    assert isomorphic(Graph().parse(data=triples, format="nt"), graph)
    assert get(api, path, "application/json").json() == document
    assert get(api, path).json() == document
    page = get(api, path, BROWSER)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert get(api, path, "image/png").status_code == 406


def test_node_has_its_triples_labels_and_incoming_links(
    api: httpx.Client, base: str
) -> None:
    cache = URIRef(f"{base}/twin/n1/cache/l2-0")
    graph = turtle(api, "/twin/n1/cache/l2-0")
    assert int(str(graph.value(cache, ST.cacheSize))) == 2097152
    core = URIRef(f"{base}/twin/n1/core/core-0")
    assert str(graph.value(core, RDFS.label)) == "core 0"
    users = {str(user)[-1] for user in graph.subjects(ST.usesCache, cache)}
    assert users == {"0", "1"}
    events = turtle(api, "/pmu/spr")
    assert len(set(events.subjects(ST.ofPmu, None))) == 2


def test_encoded_tilde_gives_the_same_path(api: httpx.Client) -> None:
    assert get(api, "/twin/n1/disk/a%7E2Fb").status_code == 200


def test_hosts_are_listed(api: httpx.Client, base: str) -> None:
    graph = turtle(api, "/twin")
    names = {str(name) for name in graph.objects(None, ST.hostname)}
    assert names == {"n1", "n2"}
    assert URIRef(f"{base}/twin/n1") in set(graph.subjects())
    page = get(api, "/twin", BROWSER).text
    assert 'href="/twin/n1"' in page and "Debian &lt;b&gt;12&lt;/b&gt;" in page


def test_pages_escape_and_link_by_path(api: httpx.Client) -> None:
    page = get(api, "/twin/n1/cache/l2-0", BROWSER)
    assert "<script>" not in page.text and "&lt;script&gt;" in page.text
    assert 'href="/twin/n1/core/core-0"' in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    disk = get(api, "/twin/n1/disk/a~2Fb", BROWSER).text
    assert 'href="javascript' not in disk
    assert 'href="//' not in disk and 'href="/elsewhere.example/"' in disk


def test_every_link_of_a_page_works(api: httpx.Client) -> None:
    page = get(api, "/twin/n1", BROWSER).text
    paths = [part.partition('"')[0] for part in page.split('href="/')[1:]]
    assert len(paths) > 8
    for path in paths:
        headers = {"Accept": BROWSER}
        answer = api.get(f"/{path}", headers=headers, follow_redirects=True)
        known = answer.status_code == 200 or path in ("metric/x", "indom/x")
        assert known, path


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/twin/n9", "says nothing about"),
        ("/twin/n9/thread/0", "no host 'n9'; known: n1, n2"),
        ("/twin/n1/thread/99", "host 'n1' is known, but has no thread/99"),
        ("/twin/n1/instance/60.0/cpu9", "has no instance/60.0/cpu9"),
        ("/metric/no.such", "says nothing about"),
        ("/metric/mem.util.free~~", "is not an id"),
        ("/metric/mem.util.free~~a~~b", "is not an id"),
        ("/indom/0.0", "says nothing about"),
        ("/pmu/spr/NO", "says nothing about"),
        ("/twin/a%20b", "did you mean 'a~20b'?"),
        ("/twin/n1/thread/0%22", "did you mean '0~22'?"),
        ("/twin/n1/thread/0%3E%20%7D", "did you mean '0~3E~20~7D'?"),
        ("/twin/n1/thread/a%0Ab", "did you mean 'a~0Ab'?"),
        ("/twin/n1/thread/%00", "did you mean '~00'?"),
        ("/twin/n1/thread/%ff", "is not an id"),
        ("/twin/n1/thread/~2f", "is not an id"),
        ("/twin/n1/thread/~41", "is not an id"),
        ("/twin/n1/thread/~", "is not an id"),
        ("/twin/n1/thread/..%2F..", "unknown path"),
        ("/twin/n1/disk/a%2Fb", "unknown path"),
        ("/twin/n1/thread/" + "x" * 9000, "has no thread/"),
        ("/twin/n1/thread", "unknown path"),
    ],
    ids=lambda text: text[:30],
)
def test_unknown_node_is_404_with_a_hint(
    api: httpx.Client, path: str, message: str
) -> None:
    answer = get(api, path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert message in answer.json()["detail"]


def test_context_is_served_as_json_ld(api: httpx.Client) -> None:
    answer = get(api, "/context.jsonld")
    assert answer.headers["content-type"] == "application/ld+json"
    assert answer.json() == context()


def test_index_links_to_all_pages(api: httpx.Client) -> None:
    page = get(api, "/", BROWSER).text
    for path in ("/twin", "/queries", "/openapi.json", "/context.jsonld"):
        assert f'href="{path}"' in page
        assert get(api, path).status_code == 200


def test_truncated_node_is_marked(
    fuseki: str, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "MAX_INCOMING", 1)
    monkeypatch.setattr(nodes, "MAX_OWN", 4)
    app = create_app(Settings(**{"fuseki_url": fuseki, "base": base}))

    async def asked() -> dict[str, Any]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost"
        ) as client:
            path = "/twin/n1/cache/l2-0"
            answers = {
                kind: await client.get(path, headers={"Accept": kind})
                for kind in ("text/turtle", "text/html", "application/ld+json")
            }
        await app.state.services.aclose()
        return answers

    answers = asyncio.run(asked())
    line = "only 1 incoming st:usesCache links are shown"
    assert f"# cut: {line}" in answers["text/turtle"].text
    assert f"Cut: {line}." in answers["text/html"].text
    header = answers["application/ld+json"].headers["supertwin-cut"]
    assert line in header and "only 4 of its triples" in header
    assert len(answers["application/ld+json"].json()["@graph"]) == 3
