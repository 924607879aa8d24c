"""This machine's own twin as DTDL: what the official parser says, and the way back."""

from pathlib import Path

import pytest

from tests.dtdl.parser import verdicts
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e


def test_this_machine_in_every_version(stack: Stack) -> None:
    documents = {
        version: stack.run("export", "dtdl", "--version", version).stdout.encode()
        for version in ("2", "3", "4")
    }
    found = verdicts(documents)
    assert {v: verdict.errors for v, verdict in found.items()} == dict.fromkeys(
        "234", []
    )
    served = stack.get("/export/dtdl", host=HOST, version=2)
    assert served.content == documents["2"]


def test_its_export_is_its_twin(stack: Stack, tmp_path: Path) -> None:
    path = tmp_path / "twin.json"
    stack.run("export", "dtdl", "--out", str(path))
    done = stack.run("import", "dtdl", str(path))
    assert "unchanged, nothing loaded" in done.stderr
