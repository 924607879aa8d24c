"""How a crate describes a run, by the Process Run Crate profile 0.5."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rocrate.rocrate import ROCrate

from observations.errors import CrateError
from observations.exchange.crate import (
    METADATA,
    RunMetadata,
    base_of,
    metadata,
    write_crate,
)
from tests.crates import contents

TOLD = RunMetadata(
    "http://localhost:8000/observation/a",
    "http://localhost:8000",
    "./solver -n 4",
    "n1",
    "2026-11-01T09:00:00.123456+00:00",
    "2026-11-01T09:00:03.500000+00:00",
    "completed",
    argv='["./solver", "-n", "4"]',
    program="/opt/my solver",
    digest="ab" * 32,
    build="c0ffee",
    user="ada",
    asked_by=[("http://localhost:8000/agent/token~20ana", "token ana")],
    environment=["OMP_NUM_THREADS=4", "PATH=/bin=x"],
)
FILES = {"observation.ttl": b"", "series.csv": b"", "run.py": b"", "stdout.txt": b"hi"}


def entities(run: RunMetadata = TOLD) -> dict[str, Any]:
    return {one["@id"]: one for one in metadata(run, FILES)["@graph"]}


def test_root_names_the_profile_and_the_run() -> None:
    found = entities()
    root, profile = found["./"], "https://w3id.org/ro/wfrun/process/0.5"
    assert root["conformsTo"] == {"@id": profile}
    assert found[profile]["@type"] == "CreativeWork"
    assert found[profile]["version"] == "0.5"
    assert root["mentions"] == {"@id": TOLD.node}
    assert {part["@id"] for part in root["hasPart"]} == FILES.keys()
    descriptor = found["ro-crate-metadata.json"]
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert descriptor["about"] == {"@id": "./"}


@pytest.mark.parametrize("name", ["/tmp/x.txt", "../x.txt", "a/b", "..", ""])
def test_file_name_cannot_leave_the_crate(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "crate"
    with pytest.raises(CrateError):
        write_crate(folder, TOLD, {**FILES, name: b""})
    assert list(tmp_path.iterdir()) == []


def test_run_is_an_action_with_all_its_properties() -> None:
    found = entities()
    action = found[TOLD.node]
    assert action["@type"] == "CreateAction"
    assert action["description"] == TOLD.command
    assert action["startTime"] == "2026-11-01T09:00:00.123+00:00"
    assert action["endTime"] == "2026-11-01T09:00:03.500+00:00"
    assert action["actionStatus"] == "http://schema.org/CompletedActionStatus"
    assert "error" not in action
    program = found[action["instrument"]["@id"]]
    assert program["@type"] == "SoftwareApplication"
    assert program["name"] == "/opt/my solver"
    assert program["url"] == "file://n1/opt/my%20solver"
    assert program["softwareVersion"] == "c0ffee"
    people = [found[one["@id"]] for one in action["agent"]]
    assert [(one["@type"], one["name"]) for one in people] == [
        ("Person", "ada"),
        ("Person", "token ana"),
    ]
    assert found["./"]["author"] == action["agent"]
    given = [found[one["@id"]] for one in action["object"]]
    assert [one["name"] for one in given] == ["argument vector", "run.py"]
    assert json.loads(given[0]["value"]) == ["./solver", "-n", "4"]
    results = {one["@id"] for one in action["result"]}
    assert results == {"observation.ttl", "series.csv", "stdout.txt"}
    variables = [found[one["@id"]] for one in action["environment"]]
    assert [(one["name"], one["value"]) for one in variables] == [
        ("OMP_NUM_THREADS", "4"),
        ("PATH", "/bin=x"),
    ]
    assert {one["@type"] for one in variables} == {"PropertyValue"}


def test_licence_is_chosen_by_the_owner() -> None:
    none, found = entities(), entities(replace(TOLD, license="https://x.org/by"))
    assert none["./"]["license"] == {"@id": "#license"}
    assert "None was given" in none["#license"]["description"]
    assert found["./"]["license"] == {"@id": "https://x.org/by"}
    assert found["https://x.org/by"]["@type"] == "CreativeWork"


def test_each_file_has_its_format() -> None:
    found = entities()
    formats = {name: found[name]["encodingFormat"] for name in FILES}
    assert formats == {
        "observation.ttl": "text/turtle",
        "series.csv": "text/csv",
        "run.py": "text/x-python",
        "stdout.txt": "text/plain",
    }
    assert found["stdout.txt"]["contentSize"] == "2"


def test_incomplete_run_has_its_outcome() -> None:
    killed = replace(TOLD, outcome="killed", user="", environment=[], program="")
    killed = replace(killed, asked_by=())
    action = entities(killed)[TOLD.node]
    assert action["actionStatus"] == "http://schema.org/FailedActionStatus"
    assert action["error"] == "killed"
    assert not {"agent", "environment"} & action.keys()
    assert "author" not in entities(killed)["./"]


def test_single_value_is_not_a_list() -> None:
    found = entities(replace(TOLD, asked_by=(), environment=["A=b"]))
    assert found[TOLD.node]["agent"] == {"@id": "#user-ada"}
    assert found[TOLD.node]["environment"] == {"@id": "#environment-A"}
    assert found["./"]["author"] == {"@id": "#user-ada"}


@pytest.mark.parametrize("name", ["crate", "crate.zip"])
def test_written_crate_is_read_back(tmp_path: Path, name: str) -> None:
    write_crate(tmp_path / name, TOLD, FILES)
    files = contents(tmp_path / name, FILES.keys())
    assert {n: files[n] for n in FILES} == FILES
    assert base_of(files[METADATA]) == TOLD.base
    crate = ROCrate(tmp_path / name)
    action = crate.get(TOLD.node)
    assert action.type == "CreateAction"
    people = [action["agent"], crate.root_dataset["author"]]
    for found in people:
        assert [one["name"] for one in found] == ["ada", "token ana"]
    with pytest.raises(CrateError):
        write_crate(tmp_path / name, TOLD, FILES)
