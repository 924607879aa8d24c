"""Regions of real runs: printed, in the graph and its JSON-LD, and on the page."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.observations.regions.recorded import build, marker_library
from tests.observations.timeline.traces import read_trace
from tests.observed import outcome, runs
from tests.servers import ROOT
from tests.stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.serial]

EXAMPLES = re.compile(r"^```(c|sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def observed(stack: Stack, *words: str) -> tuple[str, str]:
    """Observe a command; return the IRI of its run and what was printed."""
    done = stack.run("observe", "--regions", *words)
    ((how, iri),) = runs(done.stderr)
    assert (how, outcome(stack, iri)) == ("completed", "completed")
    return iri, done.stderr


def asked(stack: Stack, *words: str) -> list[dict[str, Any]]:
    found = stack.run("query", "observations/regions", *words, "--format", "json")
    rows: list[dict[str, Any]] = json.loads(found.stdout)
    return rows


def test_regions_with_counts_are_parts_of_the_run(stack: Stack, tmp_path: Path) -> None:
    build(tmp_path)
    event, command = "software::page-faults", (str(tmp_path / "regions"), "faults")
    iri, printed = observed(stack, "--event", event, "--", *command, "500")
    assert re.search(r"supertwin: faults +1 +1 +0\.", printed)
    rows = {row["region"]: row for row in asked(stack, "--id", iri)}
    assert {*rows} == {"outside", "faults"}
    counted = re.fullmatch(r"software::page-faults (\d+)\.0", rows["faults"]["figures"])
    assert counted
    assert 500 <= int(counted[1]) < 550
    assert 0 < float(rows["faults"]["share"]) < 1
    nested = {"Accept": "application/ld+json"}
    document = httpx.get(f"{iri}?frame=run", headers=nested).raise_for_status().json()
    assert {one["regionName"] for one in document["hasRegion"]} == {*rows}
    times = [one for part in document["hasRegion"] for one in part["hasRegionTimes"]]
    assert [one["rankNumber"] for one in times] == [0, 0]
    page = httpx.get(iri, headers={"Accept": "text/html"}).raise_for_status().text
    assert '<h2 id="regions">Regions' in page
    assert '<th scope="row">faults</th>' in page
    out = tmp_path / "run.pftrace"
    words = ("--format", "perfetto", "--out", str(out))
    stack.run("export", "observation", iri.rpartition("/")[2], *words)
    ((name, slices),) = (
        pair
        for pair in read_trace([out.read_bytes()]).slices.items()
        if pair[0].startswith("regions / ")
    )
    assert name == "regions / process 0, thread 0"
    assert [one.path for one in slices] == ["outside", "faults"]


def test_run_without_regions_says_why(stack: Stack) -> None:
    iri, printed = observed(stack, "--", "true")
    assert "supertwin: regions: no region was named by likwid's" in printed
    (row,) = asked(stack, "--id", iri)
    assert row["region"] is None
    assert "no region was named" in row["missing"]
    page = httpx.get(iri, headers={"Accept": "text/html"}).raise_for_status().text
    assert "no region was named" in page


def test_examples_of_the_guide_name_their_regions(stack: Stack, tmp_path: Path) -> None:
    texts = EXAMPLES.findall((ROOT / "docs" / "regions.md").read_text("utf-8"))
    (c,) = (text for kind, text in texts if kind == "c")
    (shell,) = (text for kind, text in texts if kind == "sh" and "echo begin" in text)
    (python,) = (text for kind, text in texts if kind == "python")
    solver = tmp_path / "solver"
    words = ["gcc", "-x", "c", "-", "-o", str(solver), *marker_library(tmp_path)]
    subprocess.run(words, input=c.encode(), check=True, timeout=120)
    for command, expected in {
        (str(solver),): {"main": 1, "main / solve": 10},
        ("sh", "-c", shell): {"prepare": 1, "step": 3},
        ("python3", "-c", python): {"solve": 1, "solve / step": 3},
    }.items():
        iri, _ = observed(stack, "--", *command)
        found = {row["region"]: row["count"] for row in asked(stack, "--id", iri)}
        assert found == expected
        # They also run without the recorder.
        subprocess.run(command, check=True, timeout=60)
