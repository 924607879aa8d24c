"""The program of a run as it is passed to the runner."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from observations.environment import is_secret
from observations.launch import program
from observations.stored_request import without_values

SECRET = "s3cr'et\\"
REQUEST = {
    "argv": ["sh", "-c", 'printf "%s %s" "$API_TOKEN" "$MODE" > told'],
    "env": {"API_TOKEN": SECRET, "MODE": "fast"},
}


def without_secrets(request: dict[str, Any]) -> dict[str, Any]:
    return without_values(json.dumps(request).encode(), is_secret)


def test_program_without_secrets_asks_for_them(tmp_path: Path) -> None:
    request = without_secrets(REQUEST)
    assert "s3cr" not in str(request)
    assert without_secrets(request) == request
    (tmp_path / "run.py").write_bytes(program(request))
    environment = {"PATH": os.environ["PATH"]}
    words, told = [sys.executable, "run.py"], tmp_path / "told"
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    reason = json.loads(done.stdout)["reason"]
    assert reason == "set API_TOKEN: the run had it, and its value is private"
    assert not told.exists()
    given = {**environment, "API_TOKEN": "another"}
    subprocess.run(words, cwd=tmp_path, env=given, capture_output=True, check=True)
    assert told.read_text() == "another fast"


def test_variables_without_values_are_named() -> None:
    stored = json.dumps(REQUEST).encode()
    request = without_values(stored, lambda _name, _value: True)
    assert (request["env"], request["private"]) == ({}, ["API_TOKEN", "MODE"])
    assert request["argv"] == REQUEST["argv"]


def test_program_without_secrets_is_unchanged() -> None:
    for request in ({"argv": ["true"]}, {"argv": ["'"], "env": {"MODE": '"\\n'}}):
        assert without_secrets(request) == request
