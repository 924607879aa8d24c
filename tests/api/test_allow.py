"""The Allow header of a 405 names exactly the methods that a path accepts."""

import re

import pytest
from fastapi import FastAPI

from tests.api.routing import ROUTES, app_without_stores
from tests.api.test_problems import ask

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"}


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return app_without_stores()


def routed(path: str) -> set[str]:
    found = [route for route in ROUTES if route.path_regex.fullmatch(path)]
    methods = {method for route in found for method in route.methods}
    return methods | ({"HEAD"} if "GET" in methods else set())


@pytest.mark.parametrize("path", sorted({route.path for route in ROUTES}))
def test_allow_header_lists_the_routed_methods(app: FastAPI, path: str) -> None:
    address = re.sub(r"\{[^}]*\}", "n1", path)
    expected = routed(address)
    assert expected
    for method in METHODS - expected:
        answer = ask(app, method, address)
        assert answer.status_code == 405, (method, address)
        assert {*answer.headers["allow"].split(", ")} == expected, (method, address)
