"""A run is moved to an installation with other IRIs, by the command line only."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.stores.endpoint import Endpoint
from ontology.terms import ST
from tests.command_line import run
from tests.observed import outcome, runs, statistics
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e

_ELSEWHERE = "http://twin.elsewhere.example"


def test_run_is_imported_under_another_base(stack: Stack, tmp_path: Path) -> None:
    sampled = ("--metric", "kernel.percpu.cpu.user", "--every", "100ms")
    done = stack.run("observe", *sampled, "--tag", "moved", "--", "sleep", "1")
    ((_, iri),) = runs(done.stderr)
    assert outcome(stack, iri) == "completed"
    crate = str(tmp_path / "crate.zip")
    stack.run("export", "observation", iri, "--out", crate)
    there = {**stack.env, "SUPERTWIN_BASE": _ELSEWHERE}
    brought = run(there, "import", "observation", crate)
    assert brought.returncode == 0, brought.stderr
    moved = iri.replace(stack.base, _ELSEWHERE)
    (address,) = _dashboards(stack, iri)
    assert address.startswith(f"{stack.base}/dashboards/monitor?host={HOST}&from=")
    try:
        assert brought.stdout.strip() == moved
        assert outcome(stack, moved) == "completed"
        assert statistics(stack, moved) == _moved(stack, statistics(stack, iri))
        elsewhere = address.replace(stack.base, _ELSEWHERE)
        assert _dashboards(stack, moved) == [elsewhere]
    finally:
        name = moved.rsplit("/", 1)[1]
        drop = f"DROP GRAPH <{_ELSEWHERE}/graph/observation/{name}>"
        httpx.post(
            f"{stack.fuseki}/twin/update", data={"update": drop}
        ).raise_for_status()


def _dashboards(stack: Stack, iri: str) -> list[str]:
    with Endpoint(f"{stack.fuseki}/twin") as twin:
        rows = twin.select(f"SELECT ?d {{ <{iri}> <{ST.dashboard}> ?d }}").values()
    return [str(address) for (address,) in rows]


def _moved(stack: Stack, rows: list[dict[str, Any]]) -> Any:
    assert rows
    return json.loads(json.dumps(rows).replace(stack.base, _ELSEWHERE))
