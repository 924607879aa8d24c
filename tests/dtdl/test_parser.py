"""The official parser accepts every export, and finds planted errors."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from tests.dtdl.parser import Verdict, verdicts
from tests.dtdl.twins import (
    MACHINES,
    VERSIONS,
    Twin,
    everything,
    large,
    machines,
    texts,
)

Interface = dict[str, Any]
MAX_RSS = 1_200_000_000  # bytes; the parser does not return its own memory


def _host(document: list[Interface]) -> Interface:
    return document[0]


def _bad_name(document: list[Interface]) -> None:
    _host(document)["contents"][0]["name"] = "_probe"


def _too_many(document: list[Interface]) -> None:
    more = [
        {"@type": "Property", "name": f"p{n}", "schema": "long"} for n in range(301)
    ]
    _host(document)["contents"] += more


def _nested_component(document: list[Interface]) -> None:
    part = {"@type": "Component", "name": "inner", "schema": document[-1]["@id"]}
    schemas = [c for c in _host(document)["contents"] if c["@type"] == "Component"]
    inner = next(i for i in document if i["@id"] == schemas[0]["schema"])
    inner["contents"] = [{**part, "schema": schemas[1]["schema"]}]


def _bare_type(document: list[Interface]) -> None:
    for interface in document:
        for content in interface["contents"]:
            if "SWTelemetry" in content["@type"]:
                content["@type"] = "SWTelemetry"


def _twice(document: list[Interface]) -> None:
    document[-1]["@id"] = document[-2]["@id"]


def _long_description(document: list[Interface]) -> None:
    _host(document)["description"] = "x" * 513


def _wrong_unit(document: list[Interface]) -> None:
    for content in _host(document)["contents"]:
        if "unit" in content:
            content["unit"] = "furlong"


PLANTED: dict[str, Callable[[list[Interface]], None]] = {
    "stringInvalid": _bad_name,
    "objectCountAboveMax": _too_many,
    "excludedType": _nested_component,
    "badType": _bare_type,
    "duplicateDefinition": _twice,
    "langStringValueTooLong": _long_description,
    "badDtmiOrTerm": _wrong_unit,
}


@cache
def documents() -> dict[str, bytes]:
    """Every twin in every version, then documents with one planted error each."""
    twins: dict[str, Twin] = {"everything": everything(), "texts": texts()}
    twins |= dict(machines())
    # Versions 3 and 4 differ only in a unit and their contexts.
    found = {f"large.{version}": large().document(version) for version in (2, 4)}
    found |= {f"{n}.{v}": t.document(v) for n, t in twins.items() for v in VERSIONS}
    for error, plant in PLANTED.items():
        document = json.loads(found["everything.2"])
        plant(document)
        found[f"planted.{error}"] = json.dumps(document).encode()
    return found


@pytest.fixture(scope="module")
def found() -> dict[str, Verdict]:
    """The verdicts on all documents, from one process."""
    return verdicts(documents())


def test_exports_have_no_errors(found: dict[str, Verdict]) -> None:
    if not MACHINES.is_dir():
        print(f"no topologies of real machines at {MACHINES}: none exported")
    exports = {n: v for n, v in found.items() if not n.startswith("planted")}
    assert {name: verdict.errors for name, verdict in exports.items()} == {
        name: [] for name in exports
    }
    assert all(verdict.elements > 8 for verdict in exports.values())


@pytest.mark.parametrize("error", PLANTED)
def test_planted_error_is_reported(found: dict[str, Verdict], error: str) -> None:
    assert (
        found[f"planted.{error}"]
        .errors[0]
        .startswith(f"dtmi:dtdl:parsingError:{error}:")
    )


def test_parser_stays_within_its_memory(found: dict[str, Verdict]) -> None:
    assert max(verdict.rss for verdict in found.values()) < MAX_RSS


def test_large_host_is_bounded() -> None:
    sizes = {name: len(text) for name, text in documents().items()}
    assert 3_000_000 < sizes["large.2"] < 8_000_000
    assert max(sizes.values()) < 10_000_000
