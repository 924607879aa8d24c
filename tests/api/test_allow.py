"""The header Allow of a 405 names exactly the methods that a path takes."""

import re

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from api import app as application
from api.app import create_app
from core.settings.settings import Settings
from tests.api.test_problems import ask

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"}
ROUTES = [
    route
    for part in application._PARTS
    for route in part.router.routes
    if isinstance(route, APIRoute)
]


@pytest.fixture(scope="module")
def app() -> FastAPI:
    """An application whose stores do not answer: only the routing matters here."""
    away = "http://127.0.0.1:9"
    return create_app(
        Settings.model_validate({"fuseki_url": away, "store_read_url": away})
    )


def test_the_description_of_the_api_is_only_read(app: FastAPI) -> None:
    assert ask(app, "PUT", "/openapi.json").headers["allow"] == "HEAD, GET"


def routed(path: str) -> set[str]:
    found = [route for route in ROUTES if route.path_regex.fullmatch(path)]
    methods = {method for route in found for method in route.methods}
    return methods | ({"HEAD"} if "GET" in methods else set())


@pytest.mark.parametrize("path", sorted({route.path for route in ROUTES}))
def test_allow_lists_the_methods_that_are_routed(app: FastAPI, path: str) -> None:
    address = re.sub(r"\{[^}]*\}", "n1", path)
    expected = routed(address)
    assert expected
    for method in METHODS - expected:
        answer = ask(app, method, address)
        assert answer.status_code == 405, (method, address)
        assert {*answer.headers["allow"].split(", ")} == expected, (method, address)
