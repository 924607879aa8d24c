"""The official client talks to `/mcp` of a real API with a real Fuseki."""

import asyncio
import json
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from mcp_types import CallToolResult

from api.access.tokens import TokenRole
from api.query_queue import MOST_OF_ONE
from queries.catalogue import load_catalogue
from tests.api.added_query import TEXT, send
from tests.api.mcp.client import MODES, call, refused, session
from tests.api.servers import Closed, bearer, own_api

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.mark.parametrize("mode", MODES)
def test_every_saved_query_is_a_typed_tool(api_url: str, mode: str) -> None:
    listed = session(api_url, lambda c: c.list_tools(), mode)
    tools = {tool.name: tool for tool in listed.tools}
    names = {name.replace("/", "_") for name in load_catalogue()}
    assert tools.keys() == {"sparql", *names}
    assert all(len(name) <= 64 for name in tools)
    sharing = tools["cache_sharing"]
    assert sharing.description and "Columns: host, thread" in sharing.description
    cpu = sharing.input_schema["properties"]["cpu"]
    assert (cpu["type"], cpu["default"]) == ("integer", 0)
    kind = sharing.input_schema["properties"]["type"]
    assert (kind["type"], kind["enum"]) == ("string", ["data", "instruction"])
    assert sharing.input_schema["additionalProperties"] is False
    assert sharing.output_schema and "rows" in sharing.output_schema["required"]
    assert sharing.annotations and sharing.annotations.read_only_hint
    # An assistant reads the whole list.
    assert len(listed.model_dump_json(exclude_none=True)) < 1_050 * len(tools)


@pytest.mark.parametrize("mode", MODES)
def test_three_questions_are_answered(api_url: str, mode: str) -> None:
    async def ask(client: Client) -> list[dict[str, Any]]:
        asked: list[tuple[str, Any]] = [
            ("inventory_names", {}),
            ("cache_sharing", {"host": "n1", "cpu": 1}),
            ("sparql", {"query": "ASK { ?s ?p ?o }"}),
        ]
        answers = [await client.call_tool(name, given) for name, given in asked]
        return [content(answer) for answer in answers]

    names, sharing, truth = session(api_url, ask, mode)
    assert names["columns"] == ["host", "node"]
    assert [row[0] for row in names["rows"]] == ["n1", "n2"]
    assert (sharing["total"], sharing["rows"][0][2]) == (1, 0)
    assert truth == {"boolean": True}


def content(answer: CallToolResult) -> dict[str, Any]:
    """Return the structured content, which the text repeats."""
    assert not answer.is_error, answer
    (text,) = answer.content
    assert text.type == "text"
    assert json.loads(text.text) == answer.structured_content
    return dict(answer.structured_content)


def test_every_tool_answers_with_its_defaults(sampled: httpx.Client) -> None:
    async def ask(client: Client) -> None:
        for name, query in load_catalogue().items():
            answer = await client.call_tool(name.replace("/", "_"), {})
            assert content(answer)["columns"] == query.returns, name

    session(str(sampled.base_url).rstrip("/"), ask)


def test_rows_are_bounded(api_url: str) -> None:
    found = content(call(api_url, "telemetry_metrics", {"max_rows": 2}))
    assert (len(found["rows"]), found["total"], found["truncated"]) == (2, 6, True)
    numbers = " ".join(map(str, range(300)))
    query = f"SELECT ?x {{ VALUES ?x {{ {numbers} }} }}"
    found = content(call(api_url, "sparql", {"query": query}))
    assert (len(found["rows"]), found["total"], found["truncated"]) == (100, 300, True)
    found = content(call(api_url, "sparql", {"query": query, "max_rows": 1000}))
    assert found["rows"] == [[number] for number in range(300)]
    assert not found["truncated"]


def test_values_are_numbers_truths_or_texts(api_url: str) -> None:
    query = (
        "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> SELECT * { VALUES (?a ?b ?c "
        '?d ?e ?f ?g) { (1 2.5 1e3 true "INF"^^xsd:double 12345678901234567 UNDEF) } }'
    )
    (row,) = content(call(api_url, "sparql", {"query": query}))["rows"]
    assert row == [1, 2.5, 1000.0, True, "INF", "12345678901234567", None]


def test_triples_are_turtle(api_url: str) -> None:
    query = "CONSTRUCT { ?s <urn:p> 5 } { BIND (<urn:s> AS ?s) }"
    found = content(call(api_url, "sparql", {"query": query}))
    assert "<urn:s>" in found["turtle"]


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "says"),
    [
        ("cache_sharing", {"host": "n9"}, "unknown-host", "known: n1, n2"),
        ("cache_sharing", {"cpu": "x"}, "bad-parameter", "a whole number"),
        ("cache_sharing", {"cpu": [1]}, "bad-parameter", "expected a single value"),
        ("cache_sharing", {"colour": "red"}, "bad-parameter", "'colour'"),
        ("cache_sharing", {"host": "x" * 70_000}, "bad-parameter", "shorter"),
        ("cache_sharing", {"max_rows": 10**6}, "bad-parameter", "from 1 to 1000"),
        ("cache_sharing", {"max_rows": True}, "bad-parameter", "from 1 to 1000"),
        ("cache_none", {}, "unknown-query", "no tool 'cache_none'"),
        ("cache/sharing/x", {}, "unknown-query", "no tool"),
        ("._._tokens", {}, "unknown-query", "no tool"),
        ("sparql", {}, "bad-parameter", "parameter query: none given"),
        ("sparql", {"q": "x"}, "bad-parameter", "no parameter 'q'"),
        ("sparql", {"query": "INSERT DATA { }"}, "update-refused", "only queries"),
        ("sparql", {"query": "SELECT"}, "syntax-error", ""),
        ("sparql", {"query": "ASK { SERVICE <a:a> {} }"}, "service-refused", ""),
        ("sparql", {"query": "x" * 1_500_000}, "body-too-large", "1048576 bytes"),
    ],
)
def test_error_has_its_code(
    api_url: str, tool: str, arguments: Any, code: str, says: str
) -> None:
    answer = call(api_url, tool, arguments)
    assert answer.is_error
    assert answer.structured_content["code"] == code, answer
    (text,) = answer.content
    assert text.type == "text" and says in text.text
    assert text.text.endswith(f" [{code}]") and "\n" not in text.text


def test_resources_are_hosts_and_the_ontology(api_url: str, base: str) -> None:
    async def read(client: Client) -> tuple[Any, ...]:
        listed = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        uris = (f"{base}/twin/n1", f"{base}/ontology/core", f"{base}/twin/n1/thread/0")
        return listed, templates, [await client.read_resource(uri) for uri in uris]

    listed, templates, (host, module, thread) = session(api_url, read)
    uris = [resource.uri for resource in listed]
    assert uris[-2:] == [f"{base}/twin/n1", f"{base}/twin/n2"]
    assert f"{base}/ontology/core" in uris
    assert f"{base}/twin/{{host}}/{{kind}}/{{id}}" in [
        t.uri_template for t in templates
    ]
    assert '"hostname":"n1"' in host.contents[0].text
    assert host.contents[0].mime_type == "application/ld+json"
    assert module.contents[0].mime_type == "text/turtle"
    assert "st:" in module.contents[0].text
    assert f"{base}/twin/n1/thread/0" in thread.contents[0].text


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("{base}/twin/n9", "not-in-twin"),
        ("{base}/tokens", "unknown-path"),
        ("{base}/twin/../tokens", "unknown-path"),
        ("{base}/twin/%2e%2e/tokens", "unknown-path"),
        ("{base}/twin/n1?format=html", "unknown-path"),
        ("http://other.example/twin/n1", "unknown-path"),
        ("file:///etc/passwd", "unknown-path"),
    ],
)
def test_other_resource_is_refused(
    api_url: str, base: str, uri: str, code: str
) -> None:
    given = uri.format(base=base)
    error = refused(lambda: session(api_url, lambda c: c.read_resource(given)))
    assert error.data["code"] == code
    assert error.message.endswith(f"[{code}]")


@pytest.mark.parametrize("mode", MODES)
def test_token_is_needed_as_for_sparql(closed: Closed, mode: str) -> None:
    def names(**sent: str) -> CallToolResult:
        return call(closed.url, "inventory_names", mode=mode, **sent)

    assert refused(names).data["code"] == "token-needed"
    token = closed.add("assistant", TokenRole.READER)
    assert content(names(**bearer(token)))["total"] == 2
    closed.revoke("assistant")
    for wrong in (token, "wrong"):
        error = refused(partial(names, **bearer(wrong)))
        assert (error.data["status"], error.data["code"]) == (401, "token-refused")


@pytest.mark.parametrize("mode", MODES)
def test_request_of_10_mb_is_refused(api_url: str, mode: str) -> None:
    large = {"query": "x" * 10_000_000}
    error = refused(lambda: call(api_url, "sparql", large, mode=mode))
    assert (error.data["status"], error.data["code"]) == (413, "body-too-large")


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Host": "evil.example"}, 421, "foreign-host"),
        ({"Origin": "http://evil.example"}, 403, "foreign-origin"),
        ({"Sec-Fetch-Site": "cross-site"}, 403, "cross-site-request"),
        ({"X-Long": "x" * 66_000}, 431, "headers-too-large"),
    ],
)
def test_pages_of_other_sites_are_refused(
    api_url: str, headers: dict[str, str], status: int, code: str
) -> None:
    answer = httpx.post(f"{api_url}/mcp", json=PING, headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["data"]["code"] == code


def test_other_requests_get_an_error_of_json_rpc(api_url: str) -> None:
    accept = {"Accept": "application/json, text/event-stream"}
    for method, body, status in (
        ("GET", None, 405),
        ("DELETE", None, 405),
        ("POST", b"{", 400),
        ("POST", b"[]", 400),
    ):
        answer = httpx.request(
            method,
            f"{api_url}/mcp",
            content=body,
            headers={"Content-Type": "application/json", **accept},
        )
        assert answer.status_code == status, answer.text
        assert answer.json()["error"]["message"]


def test_simple_form_of_a_web_page_is_refused(api_url: str) -> None:
    """A page can send this type without asking the server first."""
    headers = {"Content-Type": "text/plain"}
    answer = httpx.post(f"{api_url}/mcp", content=json.dumps(PING), headers=headers)
    assert answer.status_code == 400


@pytest.mark.parametrize("mode", MODES)
def test_query_of_a_client_that_leaves_is_cancelled(
    mode: str, tmp_path: Path, fuseki: str, store: str, base: str
) -> None:
    """Otherwise its turns would be taken until the timeout, an hour."""
    pairs = " . ".join(f"?s{n} ?p{n} ?o{n}" for n in range(6))
    endless = {"query": f"SELECT (COUNT(*) AS ?n) {{ {pairs} }}"}

    async def leave(client: Client) -> None:
        calls = [client.call_tool("sparql", endless) for _ in range(MOST_OF_ONE)]
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.gather(*calls)

    with own_api(tmp_path, base, fuseki, store, query_timeout="3600") as api:
        session(api.url, leave, mode)
        assert content(call(api.url, "inventory_names"))["total"] == 2


@pytest.mark.usefixtures("no_added_queries")
def test_added_query_is_a_tool_at_once(opened: Closed, operator: str) -> None:
    added = send(opened, "PUT", operator, "/queries/mine/tool", TEXT)
    assert added.status_code == 201
    listed = session(opened.url, lambda c: c.list_tools()).tools
    assert "mine_tool" in {tool.name for tool in listed}
    found = content(call(opened.url, "mine_tool", {"host": "n1"}))
    assert found["columns"] == ["host", "thread"]
