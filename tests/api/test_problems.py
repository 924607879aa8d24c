"""Every error has one shape, also those of the framework and the unforeseen ones."""

import asyncio
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from api.app import create_app
from supertwin.settings import Settings

FIELDS = {"type", "title", "status", "detail", "instance"}


@pytest.fixture
def app() -> FastAPI:
    """An application whose graph store and series store do not answer."""
    made = create_app(
        Settings.model_validate(
            {
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
        async with httpx.AsyncClient(
            transport=transport, base_url="http://x"
        ) as client:
            return await client.request(method, path, **more)

    return asyncio.run(asked())


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing/here", 404),
        ("GET", "/sparql/", 404),
        ("GET", "/twin/n1/a%22b/0", 404),
        ("GET", "/queries/no/such", 404),
        ("POST", "/twin", 405),
        ("DELETE", "/sparql", 405),
        ("OPTIONS", "/", 405),
        ("GET", "/why", 422),
        ("GET", "/why?host=&metric=a", 422),
        ("GET", "/sparql", 400),
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
def test_one_shape(app: FastAPI, method: str, path: str, status: int) -> None:
    answer = ask(app, method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document.keys() >= FIELDS
    assert document["status"] == status
    assert document["instance"] == path.partition("?")[0]
    assert all(document[field] for field in FIELDS)
    assert "\n" not in document["detail"]


def test_a_failure_shows_nothing_of_the_inside(app: FastAPI) -> None:
    text = ask(app, "GET", "/broken").text
    assert "secret" not in text and "Traceback" not in text and ".py" not in text


def test_405_names_every_method(app: FastAPI) -> None:
    assert ask(app, "PUT", "/sparql").headers["allow"] == "HEAD, GET, POST"
    assert ask(app, "PUT", "/twin/n1").headers["allow"] == "HEAD, GET"


def test_the_shape_is_locked(app: FastAPI) -> None:
    assert ask(app, "GET", "/queries/cache/sharing?cpu=x").json() == {
        "type": "https://w3id.org/supertwin/problem/bad-parameter",
        "title": "A parameter does not fit",
        "status": 400,
        "detail": "parameter cpu: 'x' given, expected a whole number",
        "instance": "/queries/cache/sharing",
        "parameter": "cpu",
    }
