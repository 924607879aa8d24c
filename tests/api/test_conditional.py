"""Tags of answers: 304 exactly as long as the content is the same."""

import httpx
import pytest
from starlette.datastructures import Headers

from api.conditional import is_known
from tests.api.servers import Closed, TokenRole, bearer

PATHS = (
    *("/context.jsonld", "/ontology", "/ontology/core", "/openapi.json", "/twin"),
    *("/twin/n1", "/twin/n1/thread/0", "/metric/mem.util.free", "/queries", "/plans"),
    *("/queries/cache/sharing.rq?host=n1&cpu=0", "/dashboards", "/.well-known/void"),
    *("/sparql", "/sparql?query=ASK%7B%7D", "/docs/api.md", "/static/theme.css"),
)
NODE = "/twin/n1/core/core-0"


def get(api: httpx.Client, path: str, tag: str = "", **more: str) -> httpx.Response:
    sent = {"If-None-Match": tag} if tag else {}
    return api.get(path, headers=sent | more)


def change(fuseki: str, verb: str, base: str) -> None:
    data = f'GRAPH <{base}/graph/twin/n1> {{ <{base}{NODE}> <urn:note> "new" }}'
    sent = httpx.post(
        f"{fuseki}/twin/update", data={"update": f"{verb} DATA {{ {data} }}"}
    )
    assert sent.is_success, sent.text


@pytest.mark.parametrize("path", PATHS)
def test_known_content_is_not_sent_again(api: httpx.Client, path: str) -> None:
    first = get(api, path)
    assert first.status_code == 200
    again = get(api, path, first.headers["etag"])
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers.get("vary") == first.headers.get("vary")
    assert again.headers["cache-control"] == first.headers["cache-control"]
    assert "content-length" not in again.headers
    assert get(api, path, '"other"').content == first.content


def test_head_has_the_tag_of_get(api: httpx.Client) -> None:
    tag = get(api, NODE).headers["etag"]
    assert api.head(NODE).headers["etag"] == tag
    assert api.head(NODE, headers={"If-None-Match": tag}).status_code == 304


def test_each_format_has_its_own_tag(api: httpx.Client) -> None:
    types = ("application/ld+json", "text/turtle", "application/rdf+xml", "text/html")
    tags = {get(api, NODE, Accept=one).headers["etag"] for one in types}
    assert len(tags) == len(types)


@pytest.mark.parametrize("media_type", ["application/ld+json", "text/html"])
def test_changed_node_gets_another_tag_at_once(
    api: httpx.Client, fuseki: str, base: str, media_type: str
) -> None:
    old = get(api, NODE, Accept=media_type)
    try:
        change(fuseki, "INSERT", base)
        new = get(api, NODE, old.headers["etag"], Accept=media_type)
        assert new.status_code == 200
        assert "urn:note" in new.text and "urn:note" not in old.text
        assert new.headers["etag"] != old.headers["etag"]
    finally:
        change(fuseki, "DELETE", base)
    back = get(api, NODE, old.headers["etag"], Accept=media_type)
    assert back.status_code == 304


def test_errors_and_moments_have_no_tag(api: httpx.Client) -> None:
    for path in ("/twin/none", "/sparql?query=", "/health", "/state"):
        answer = get(api, path, "*")
        assert answer.status_code != 304 and "etag" not in answer.headers, path


def test_tags_of_readers_stay_private(closed: Closed) -> None:
    token = closed.add("tagged", TokenRole.READER)
    answer = closed.get("/twin/n1", token)
    assert answer.headers["cache-control"] == "private, no-cache"
    sent = bearer(token) | {"If-None-Match": answer.headers["etag"]}
    assert closed.client.get(f"{closed.url}/twin/n1", headers=sent).status_code == 304
    without = {"If-None-Match": answer.headers["etag"]}
    refused = closed.client.get(f"{closed.url}/twin/n1", headers=without)
    assert refused.status_code == 401


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        *(('"a"', True), ('W/"a"', True), ('"b", W/"a"', True), ("*", True)),
        *(('"b"', False), ("a", False), ("", False), ('"a', False)),
        *(('"x,*,y"', False), ('"b,a"', False), ('"b","a"', True)),
    ],
)
def test_client_names_the_tags_that_it_has(sent: str, expected: bool) -> None:
    assert is_known(Headers({"if-none-match": sent}), 'W/"a"') is expected


def test_client_may_name_its_tags_in_several_headers() -> None:
    sent = [(b"if-none-match", b'"b"'), (b"if-none-match", b'"a"')]
    assert is_known(Headers(raw=sent), '"a"')
