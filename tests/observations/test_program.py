"""The program of a run as it is passed to the runner."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from observations.program import program
from observations.program_for_others import without_secrets, without_values

SECRET = "s3cr'et\\"
REQUEST = {
    "argv": ["sh", "-c", 'printf "%s %s" "$API_TOKEN" "$MODE" > told'],
    "env": {"API_TOKEN": SECRET, "MODE": "fast"},
}


def test_program_without_secrets_runs(tmp_path: Path) -> None:
    text = without_secrets(program(REQUEST))
    assert text is not None
    assert b"s3cr" not in text
    assert without_secrets(text) == text
    (tmp_path / "run.py").write_bytes(text)
    environment = {"PATH": os.environ["PATH"]}
    words, request_file = [sys.executable, "run.py"], tmp_path / "told"
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == [
        "set API_TOKEN: the run had it, and its value is private"
    ]
    assert not request_file.exists()
    given = {**environment, "API_TOKEN": "another"}
    subprocess.run(words, cwd=tmp_path, env=given, capture_output=True, check=True)
    assert request_file.read_text() == "another fast"


def test_program_without_values_names_its_variables() -> None:
    text = without_values(program(REQUEST))
    assert text is not None
    assert b"for name in ['API_TOKEN', 'MODE'] if" in text
    assert b"s3cr" not in text and b'"fast"' not in text


def test_program_without_secrets_is_unchanged() -> None:
    for request in ({"argv": ["true"]}, {"argv": ["'"], "env": {"MODE": '"\\n'}}):
        assert without_secrets(program(request)) == program(request)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"print(1)\n",
        b"\n\nos._exit(run(json.loads('{'), surroundings))\n",
        b"\n\nos._exit(run(json.loads('[]'), surroundings))\n",
        b'\n\nos._exit(run(json.loads(\'{"env": {"A": 1}}\'), surroundings))\n',
        program(REQUEST) + b"# more\n",
    ],
)
def test_invalid_program_is_not_exported(text: bytes) -> None:
    assert without_secrets(text) is None
