"""No route ignores an unknown query parameter."""

import re

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from api.problems import RPC_PATH
from tests.api.routing import ROUTES, app_without_stores
from tests.api.test_problems import ask

# SPARQL clients send extra parameters to any service; saved queries do the check.
TAKE_ANY = {"/sparql", "/queries/{group}/{name}"}


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return app_without_stores()


def address(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "n1", path)


@pytest.mark.parametrize(
    ("route", "method"),
    [
        pytest.param(route, method, id=f"{method} {route.path}")
        for route in ROUTES
        if route.path not in TAKE_ANY
        for method in sorted(route.methods)
    ],
)
def test_unknown_parameter_is_refused(
    app: FastAPI, route: APIRoute, method: str
) -> None:
    answer = ask(app, method, f"{address(route.path)}?colour=red")
    found = answer.json()
    # The problem is within the error of JSON-RPC.
    problem = found["error"]["data"] if route.path == RPC_PATH else found
    assert (answer.status_code, problem["title"]) == (400, "Unknown parameter")
    assert problem["detail"].startswith("no parameter 'colour' here; there are: ")
    assert "\n" not in problem["detail"]
