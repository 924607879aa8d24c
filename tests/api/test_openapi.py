"""Clients can be generated from the OpenAPI document."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from api.query_paths import with_query_paths
from queries.catalogue import load_catalogue
from tests.api.routing import app_without_stores
from tests.api.test_problems import ask

JSON_TYPES = {
    **{name: name for name in ("string", "integer", "number", "boolean")},
    **{"iri": "string", "run": "string"},
}


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return app_without_stores()


@pytest.fixture(scope="module")
def document(app: FastAPI) -> dict[str, Any]:
    found: dict[str, Any] = ask(app, "GET", "/openapi.json").json()
    return found


def references(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        part = dict(enumerate(part))
    if not isinstance(part, dict):
        return
    if isinstance(part.get("$ref"), str):
        yield part["$ref"]
    for below in part.values():
        yield from references(below)


def test_every_reference_resolves(document: dict[str, Any]) -> None:
    found = {*references(document)}
    assert found
    for reference in found:
        first, *names = reference.split("/")
        assert first == "#" and reduce(dict.__getitem__, names, document), reference


def test_same_paths_use_the_same_parameter_names(
    document: dict[str, Any],
) -> None:
    found = defaultdict(set)
    for path in document["paths"]:
        found[re.sub(r"\{[^}]*\}", "{}", path)].add(path)
    assert not [paths for paths in found.values() if len(paths) > 1]


def test_parameter_names_are_unique_and_lower_case(document: dict[str, Any]) -> None:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            names = [
                (each["in"], each["name"]) for each in operation.get("parameters", ())
            ]
            assert len(names) == len({*names}), (method, path)
            assert not [name for _, name in names if name != name.lower()], path


def test_allow_lists_the_methods_of_the_document(app: FastAPI) -> None:
    for path, methods in app.openapi()["paths"].items():
        expected = {method.upper() for method in methods}
        expected |= {"HEAD"} if "GET" in expected else set()
        answer = ask(app, "TRACE", re.sub(r"\{[^}]*\}", "n1", path))
        assert answer.status_code == 405, path
        assert {*answer.headers["allow"].split(", ")} == expected, path


def test_each_saved_query_has_a_path_with_its_parameters(
    document: dict[str, Any],
) -> None:
    for name, query in load_catalogue().items():
        operation = document["paths"][f"/queries/{name}"]["get"]
        assert operation["summary"] == query.title
        found = {one["name"]: one["schema"] for one in operation["parameters"]}
        assert [*found] == [*query.params]
        for param in query.params.values():
            schema = found[param.name]
            assert schema["type"] == JSON_TYPES[param.type]
            assert schema.get("default") == param.default
            assert schema.get("enum", []) == [*param.enum]


def test_operations_have_names_of_their_own(document: dict[str, Any]) -> None:
    names = [
        operation["operationId"]
        for methods in document["paths"].values()
        for operation in methods.values()
    ]
    assert len({*names}) == len(names)


def test_similar_names_of_queries_give_different_operations(
    document: dict[str, Any],
) -> None:
    query = load_catalogue()["cache/sharing"]
    alike = [replace(query, name=name) for name in ("a/b-c", "a-b/c")]
    paths = with_query_paths(document, alike)["paths"]
    names = {paths[f"/queries/{one.name}"]["get"]["operationId"] for one in alike}
    assert len(names) == 2


def test_media_types_of_a_saved_query_are_served(
    api: httpx.Client, document: dict[str, Any]
) -> None:
    path = "/queries/cache/sharing"
    content = document["paths"][path]["get"]["responses"]["200"]["content"]
    assert {"text/csv", "application/ld+json", "text/html"} <= content.keys()
    for media_type in content:
        answer = api.get(path, headers={"Accept": media_type})
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(media_type)


SAMPLE_TYPES = {
    *("application/ld+json", "text/csv", "application/vnd.apache.parquet"),
    "application/vnd.apache.arrow.stream",
}


def test_samples_are_described(document: dict[str, Any]) -> None:
    telemetry = document["paths"]["/twin/{host}/telemetry/{metric}/{instance}"]
    many = document["paths"]["/samples"]["post"]
    arguments = {"from", "to", "step", "fn", "q", "coverage"}
    names = {each["name"] for each in telemetry["get"]["parameters"]}
    body = many["requestBody"]["content"]["application/json"]["schema"]
    assert arguments | {"format"} <= names
    assert arguments | {"telemetry", "query", "parameters"} == {*body["properties"]}
    for operation in (telemetry["get"], many):
        assert {*operation["responses"]["200"]["content"]} >= SAMPLE_TYPES


def test_changes_of_samples_are_described(document: dict[str, Any]) -> None:
    telemetry = document["paths"]["/twin/{host}/telemetry/{metric}/{instance}"]
    assert {*telemetry["post"]["requestBody"]["content"]} == {"text/csv"}
    span = [each for each in telemetry["delete"]["parameters"] if each["in"] == "query"]
    assert {each["name"] for each in span if each["required"]} == {"from", "to"}
    for method in ("post", "delete"):
        assert telemetry[method]["security"] == [{"token": []}]
        assert {"400", "401", "403", "404", "409"} <= {*telemetry[method]["responses"]}
