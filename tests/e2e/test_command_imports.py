"""Commands do not import heavy modules that they do not need: imports take time."""

import subprocess
import sys

import pytest

from tests.servers import ROOT
from tests.stack import Stack

pytestmark = pytest.mark.e2e

_HEAVY = {
    "asyncio",
    "fastapi",
    "grafana_foundation_sdk",
    "httpx",
    "ingest.probe",
    "pyarrow",
    "pydantic",
    "pyshacl",
    "scipy",
    "uvicorn",
}
_PLAN = ("kernel.all.load", "--period", "10s", "--plan", "imports", "--yes")


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (("query", "cache/sharing"), {*_HEAVY, "numpy", "rdflib"}),
        (("query", "--help"), {*_HEAVY, "numpy", "rdflib"}),
        (("sample", "list"), _HEAVY),
        (("sample", "add", *_PLAN), _HEAVY),
        (("sample", "remove", "imports"), _HEAVY),
        (("export", "dtdl"), {*_HEAVY, "numpy", "yaml"}),
        (("dashboards", "--check"), _HEAVY - {"grafana_foundation_sdk"}),
    ],
    ids=lambda found: "-".join(found[:2]) if isinstance(found, tuple) else "",
)
def test_command_imports_nothing_heavy(
    stack: Stack, words: tuple[str, ...], heavy: set[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "supertwin", *words],
        env=stack.env,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-1000:]
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "supertwin.cli.main" in imported
    assert not heavy & imported
