"""Hot loops of a real run: printed, recorded, on its page and in its JSON-LD."""

import json

import httpx
import pytest

from tests.observations.hot_loops.recorded import CHAIN, build
from tests.observed import outcome, runs
from tests.stack import Stack

pytestmark = pytest.mark.e2e


def test_loop_is_printed_recorded_and_shown(
    stack: Stack, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kernels = build(tmp_path_factory.mktemp("kernels"), "-g")
    done = stack.run("observe", "--hot-loops", "--", kernels, *CHAIN, check=False)
    assert done.returncode == 7
    assert "supertwin: hot loops: 1, samples of " in done.stderr
    assert "kernels.c:" in done.stderr
    ((_, iri),) = runs(done.stderr)
    assert outcome(stack, iri) == "failed"
    words = ("observations/hot-loops", "--id", iri, "--format", "json")
    (row,) = json.loads(stack.run("query", *words).stdout)
    assert (row["function"], row["binary"]) == ("chain", kernels)
    assert (row["boundBy"], row["missing"]) == ("dependency chain", None)
    assert float(row["chain"]) > float(row["perfect"])
    page = httpx.get(iri, headers={"Accept": "text/html"}).raise_for_status().text
    assert '<h2 id="hot-loops">Hot loops' in page
    assert "kernels.c:" in page
    assert "dependency chain" in page
    accept = {"Accept": "application/ld+json"}
    nested = httpx.get(f"{iri}?frame=run", headers=accept).raise_for_status().json()
    (analysis,) = nested["hasLoopAnalysis"]
    names = [one.get("functionName") for one in analysis["hasHotFunction"]]
    assert "chain" in names
    assert len(analysis["hasHotLoop"][0]["hasPortPressure"]) > 1


def test_run_without_loops_says_why(stack: Stack) -> None:
    done = stack.run("observe", "--hot-loops", "--", "true")
    ((_, iri),) = runs(done.stderr)
    assert outcome(stack, iri) == "completed"
    words = ("observations/hot-loops", "--id", iri, "--format", "json")
    (row,) = json.loads(stack.run("query", *words).stdout)
    assert (row["share"], bool(row["missing"])) == (None, True)
    page = httpx.get(iri, headers={"Accept": "text/html"}).raise_for_status().text
    assert "Missing: " in page
