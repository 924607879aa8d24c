"""All errors have one shape, including those of the framework and unexpected ones."""

import asyncio
from contextlib import aclosing
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from api.app import create_app
from core.errors import PROBLEM_TYPES
from core.settings.home import DEFAULT
from core.settings.settings import Settings

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
FIELDS = {"type", "title", "status", "detail", "instance"}


@pytest.fixture
def app() -> FastAPI:
    """Return an application whose graph store and series store do not answer."""
    made = create_app(
        Settings(
            **{
                "fuseki_url": "http://127.0.0.1:9",
                "store_read_url": "http://127.0.0.1:9",
            }
        )
    )

    @made.get("/broken")
    async def broken() -> None:
        raise RuntimeError("secret")

    return made


def ask(app: FastAPI, method: str, path: str, **more: Any) -> httpx.Response:
    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with (
            aclosing(app.state.services),
            httpx.AsyncClient(
                transport=transport, base_url="http://localhost"
            ) as client,
        ):
            return await client.request(method, path, **more)

    return asyncio.run(asked())


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing/here", 404),
        ("GET", "/sparql/", 404),
        ("GET", "/twin/n1/a%22b/0", 404),
        ("GET", "/queries/no/such", 404),
        ("POST", "/queries", 405),
        ("DELETE", "/sparql", 405),
        ("OPTIONS", "/", 405),
        ("GET", "/why", 422),
        ("GET", "/why?host=&metric=a", 422),
        ("GET", "/sparql", 503),
        ("GET", "/sparql?query=", 400),
        ("GET", "/sparql?query=DROP%20ALL", 400),
        ("GET", "/queries/cache/sharing?no=1", 400),
        ("POST", "/sparql", 415),
        ("GET", "/sparql?query=ASK{}", 503),
        ("GET", "/twin", 503),
        ("GET", "/twin/n1", 503),
        ("GET", "/twin/n1/telemetry/a.b/~", 503),
        ("GET", "/why?host=a&metric=b", 503),
        ("GET", "/queries/cache/sharing", 503),
        ("GET", "/broken", 500),
    ],
)
def test_all_errors_have_one_shape(
    app: FastAPI, method: str, path: str, status: int
) -> None:
    answer = ask(app, method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document.keys() >= FIELDS
    assert document["status"] == status
    assert document["instance"] == path.partition("?")[0]
    assert all(document[field] for field in FIELDS)
    assert "\n" not in document["detail"]


def test_internal_failure_shows_no_internals(app: FastAPI) -> None:
    text = ask(app, "GET", "/broken").text
    assert "secret" not in text and "Traceback" not in text and ".py" not in text


def test_problem_fields_are_fixed(app: FastAPI) -> None:
    assert ask(app, "GET", "/queries/cache/sharing?cpu=x").json() == {
        "type": "https://w3id.org/supertwin/problem/bad-parameter",
        "title": "A parameter is unknown or given twice, or its value does not fit",
        "status": 400,
        "detail": "parameter cpu: 'x' given, expected a whole number",
        "instance": "/queries/cache/sharing",
        "parameter": "cpu",
    }


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/nothing/here", 404, "unknown path"),
        ("GET", "/queries/a/b", 404, "a/b"),
        ("POST", "/queries", 405, "POST is not allowed"),
        ("GET", "/why", 422, "host: Field required"),
        ("GET", "/twin?%3Cscript%3E=1", 400, "&lt;script&gt;"),
        ("GET", "/twin/n1", 503, "Fuseki does not answer"),
        ("GET", "/twin/n1/drawing", 503, "Fuseki does not answer"),
        ("GET", "/broken", 500, "its log on stderr says where"),
    ],
)
def test_browsers_get_a_page(
    app: FastAPI, method: str, path: str, status: int, message: str
) -> None:
    page = ask(app, method, path, headers={"Accept": BROWSER})
    assert page.status_code == status
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert page.headers["cache-control"] == "no-store"
    assert message in page.text and "<script>" not in page.text
    assert f"Status {status}" in page.text and 'href="/dashboards"' in page.text
    document = ask(app, method, path)
    assert document.json()["type"].startswith(PROBLEM_TYPES)
    assert page.headers.get("allow") == document.headers.get("allow")
    for answer in (page, document):
        assert answer.headers.get_list("vary") == ["Accept"]


@pytest.mark.parametrize(
    "accept",
    ["", "*/*", "application/json, text/html", "text/turtle", "text/html;q=0.1, */*"],
)
def test_other_clients_get_the_document(app: FastAPI, accept: str) -> None:
    answer = ask(app, "GET", "/nothing", headers={"Accept": accept})
    assert answer.headers["content-type"] == "application/problem+json"


def test_problem_pages_link_below_the_path_of_the_base() -> None:
    settings = {"base": "http://localhost:8000/st", "fuseki_url": "http://127.0.0.1:9"}
    made = create_app(Settings(**settings))

    @made.get("/st/broken")
    async def broken() -> None:
        raise RuntimeError

    for path in ("/st/nothing", "/st/broken"):
        page = ask(made, "GET", path, headers={"Accept": BROWSER})
        assert 'href="/st/dashboards"' in page.text, page.text


@pytest.mark.parametrize("path", ["/", "/state", "/openapi.json", "/context.jsonld"])
def test_answers_forbid_type_sniffing(app: FastAPI, path: str) -> None:
    assert ask(app, "GET", path).headers.get_list("x-content-type-options") == [
        "nosniff"
    ]


def test_header_size_is_limited(app: FastAPI) -> None:
    path = "/context.jsonld"
    taken = ask(app, "GET", path, headers={"X-Some": "x" * 60_000})
    assert taken.status_code == 200
    refused = ask(app, "GET", path, headers={"Accept": "a/b," * 20_000})
    assert refused.status_code == 431
    assert refused.json()["detail"].startswith(
        "the headers of a request may have 65536"
    )


def test_apps_of_tests_do_not_touch_the_state_of_the_checkout(app: FastAPI) -> None:
    assert app.state.services.settings.home != DEFAULT
