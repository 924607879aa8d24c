"""This machine's twin as DTDL: the official parser accepts it, and it imports back."""

from pathlib import Path

import pytest

from tests.dtdl.parser import verdicts
from tests.observed import outcome, runs
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e


def test_this_machine_round_trips_in_every_version(
    stack: Stack, tmp_path: Path
) -> None:
    """The run before the export is not part of the document."""
    done = stack.run("observe", "--metric", "kernel.all.pswitch", "--", "sleep", "0.2")
    ((_, run),) = runs(done.stderr)
    assert outcome(stack, run) == "completed"
    documents = {
        str(version): stack.get("/export/dtdl", host=HOST, version=version).content
        for version in (2, 3, 4)
    }
    found = verdicts(documents)
    assert {v: verdict.errors for v, verdict in found.items()} == {
        version: [] for version in documents
    }
    path = tmp_path / "twin.json"
    stack.run("export", "dtdl", "--out", str(path))
    assert path.read_bytes() == documents["2"]
    done = stack.run("import", "dtdl", str(path))
    assert "unchanged, nothing loaded" in done.stderr
