"""Derived figures of a real run, and its provenance.

The kernel counts page faults without hardware counters, so page faults replace the
formulas of this machine's roles. A processor without a known PMU gets a made-up one.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from rdflib import RDF, Graph, URIRef

from api.access.tokens import TokenRole, add_token
from ontology.terms import ST
from tests.e2e.page_faults import PERF, counted_by_page_faults
from tests.e2e.processor import OWN, PREFIX, why_no_role
from tests.observed import kill_api, observing, outcome, runs, statistics, wait_for_line
from tests.servers import wait_until
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e

FORMULAS = {
    "Instructions": {PERF: 1},
    "Cycles": {f"{PERF}_MIN": 2, f"{PERF}_MAJ": 2},
    "FLOPs": {f"{PERF}_MIN": 1},
}
PAGES = 20_000
FAULTS = f"import mmap; m = mmap.mmap(-1, 4096 * {PAGES}); m[::4096] = bytes({PAGES})"


@pytest.fixture(scope="module")
def counting(stack: Stack) -> Iterator[Stack]:
    """Make the stack's machine measure some roles by page faults."""
    with counted_by_page_faults(stack, FORMULAS):
        yield stack


def observed(stack: Stack, *words: str) -> str:
    """Run a command under observation; return its IRI once it is recorded."""
    done = stack.run("observe", *words)
    (iri,) = re.findall(r"supertwin: completed after \S+ s: (\S+)", done.stderr)
    recorded = f"{PREFIX}SELECT ?how {{ <{iri}> st:outcome ?how }}"
    wait_until(lambda: stack.sparql(recorded))
    return str(iri)


def asked(stack: Stack, query: str, iri: str) -> list[dict[str, Any]]:
    words = ("query", f"observations/{query}", "--id", iri, "--format", "json")
    found: list[dict[str, Any]] = json.loads(stack.run(*words).stdout)
    return found


def test_accuracy_needs_hardware_counters(stack: Stack) -> None:
    """Without hardware counters the message says what is missing."""
    usable = f"{PREFIX}SELECT ?unit {{ {OWN} ?unit st:usable true }}"
    if stack.sparql(usable):
        assert (
            "INST" in stack.run("accuracy", "--kernel", "sum", "--repeat", "2").stdout
        )
        return
    done = stack.run("accuracy", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line == (
        f"supertwin: accuracy needs hardware counters: Instructions on {HOST}: "
        f"{why_no_role(stack)} [not-countable]"
    )


@pytest.mark.parametrize("api", ["stays", "is killed"])
def test_restarted_counters_give_no_figure(
    counting: Stack, tmp_path: Path, api: str
) -> None:
    """Another plan with PMU events makes the agent reopen all counters."""
    go = tmp_path / "go"
    script = f"echo ready; until [ -e {go} ]; do sleep 0.1; done"
    words = ("--role", "FLOPs", "--every", "100ms", "--cpus", "0", "--")
    other = ("--plan", "other", "--period", "1s")
    with observing(counting, *words, "sh", "-c", script) as process:
        wait_for_line(process, "ready")
        counting.run("sample", "add", "--event", "software::context-switches", *other)
        if api == "is killed":
            kill_api(counting)
        go.touch()
        _, output = process.communicate()
    counting.run("sample", "remove", "other")
    ((how, iri),) = runs(output)
    assert (how, outcome(counting, iri)) == ("completed", "completed")
    rows = {row["figure"]: row for row in asked(counting, "derived", iri)}
    assert {row["value"] for row in rows.values()} == {None}
    for row in rows.values():
        assert row["reason"].endswith("came or went: run it again"), row
    assert {row.get("total") for row in statistics(counting, iri)} == {None}


@pytest.mark.serial
def test_figures_are_derived_from_the_counts_of_a_run(counting: Stack) -> None:
    roles = [word for role in FORMULAS for word in ("--role", role)]
    words = (*roles, "--every", "100ms", "--cpus", "0", "--", "python3", "-c", FAULTS)
    first = observed(counting, *words)
    by_figures = ("--figure", "IPC", "--figure", "FLOP rate", *words[len(roles) :])
    second = observed(counting, *by_figures)
    other = {row["figure"]: row["value"] for row in asked(counting, "derived", second)}
    rows = {row["figure"]: row for row in asked(counting, "derived", first)}
    assert rows.keys() == other.keys() == {*FORMULAS, "IPC", "FLOP rate"}
    assert None not in other.values()
    assert {row["reason"] for row in rows.values()} == {None}
    assert {float(row["dutycycle"]) for row in rows.values()} == {1.0}
    values = {name: float(row["value"]) for name, row in rows.items()}
    # The interpreter, and other work on that CPU, add faults.
    assert values["Instructions"] > PAGES
    # The agent reads the events one by one; a fault may happen in between.
    assert values["IPC"] == pytest.approx(0.5, rel=2e-2)
    (run,) = asked(counting, "runs", first)
    seconds = float(run["seconds"])
    # Both values are stored rounded.
    assert values["FLOP rate"] == pytest.approx(values["FLOPs"] / seconds, rel=1e-4)
    assert float(rows["FLOPs"]["covered"]) > seconds
    output = counting.run("compare", first, second).stdout
    (mean,) = re.findall(r"^IPC, mean\n  1: (\S+)", output, re.MULTILINE)
    assert float(mean) == pytest.approx(values["IPC"], rel=1e-4)
    page = counting.get(first.removeprefix(counting.base), "text/html").text
    assert re.search(
        r'<th scope="row">IPC</th><td><span title="0\.\d+">0\.\d+ ?\w*<', page
    )
    again = {"again": first.rpartition("/")[2]}
    form = counting.get("/observations/new", "text/html", **again).text
    (requested,) = re.findall(r'id="requested">(.*?)</script>', form)
    assert json.loads(requested)["roles"] == sorted(FORMULAS)
    ids = {"id": [first, second]}
    page = counting.get("/observations/compare", "text/html", **ids).text
    assert '<th scope="row">IPC' in page
    assert '"title":"IPC"' not in page


@pytest.mark.serial
def test_counts_are_compared_with_executed_instructions(counting: Stack) -> None:
    """Page faults are not instructions, so the error is close to 100 %."""
    done = counting.run("accuracy", "--kernel", "triad", "--repeat", "1")
    words = ("query", "pmu/accuracy", "--event", PERF, "--format", "json")
    (row,) = json.loads(counting.run(*words).stdout)
    assert (row["pmu"], row["kernel"], int(row["runs"])) == ("perf", "triad", 1)
    assert 0.99 < float(row["error"]) <= 1
    assert float(row["expected"]) > 1e9
    assert f"triad      perf::{PERF}" in done.stdout
    output = counting.run("why", HOST, "Instructions", check=False).stdout
    assert f"accuracy    perf::{PERF} was 100.00% off in 1 kernels" in output


def test_groups_of_likwid_are_added_listed_and_removed(stack: Stack) -> None:
    words = ("catalogue", "groups")
    printed = stack.run(*words, "add", "skylakeX/FLOPS_DP", "haswellEP/BRANCH").stdout
    assert "skx/FLOPS_DP: " in printed and "  FLOPS_DP CPI" in printed
    listed = json.loads(stack.run(*words, "list", "--format", "json").stdout)
    assert [(row["pmu"], row["group"]) for row in listed] == [
        ("hsw_ep", "BRANCH"),
        ("skx", "FLOPS_DP"),
    ]
    query = ("query", "pmu/figures", "--pmu", "skx", "--format", "json")
    figures = {row["figure"]: row for row in json.loads(stack.run(*query).stdout)}
    assert figures["FLOPS_DP CPI"]["source"].endswith("skylakeX/FLOPS_DP.txt")
    for name in ("skx/FLOPS_DP", "hsw_ep/BRANCH"):
        stack.run(*words, "remove", name)
    assert json.loads(stack.run(*words, "list", "--format", "json").stdout) == []
    done = stack.run(*words, "remove", "skx/FLOPS_DP", check=False)
    assert done.returncode == 2 and "[no-such-event-group]" in done.stderr


def test_origin_of_a_run_is_recorded(stack: Stack) -> None:
    token = add_token(stack.home, "ana", TokenRole.OPERATOR, None)
    asked_for = {"argv": ["sleep", "0.2"], "pin": "compact", "threads": "1"}
    begun = httpx.post(
        f"{stack.api}/observations",
        json={**asked_for, "metrics": ["kernel.all.load"]},
        headers={"Authorization": f"Bearer {token}"},
        timeout=120,
    )
    assert begun.status_code == 201, begun.text
    iri = f"{stack.base}/observation/{begun.json()['id']}"
    wait_until(lambda: asked(stack, "origin", iri))
    found: dict[str, dict[str, Any]] = {}
    for row in asked(stack, "origin", iri):
        relation = row["relation"].rpartition("#")[2]
        found.setdefault(relation, {})[row["thing"]] = row["name"]
    used = found["used"]
    assert used[f"{stack.base}/twin/{HOST}"] == HOST
    assert used[f"{iri}/surroundings"].endswith("sleep")
    # The address of the query that chose the CPUs answers.
    (query,) = [one for one in used if "/queries/pinning/compact?" in one]
    assert stack.get(query.removeprefix(stack.base), "application/json").json()
    assert set(found["wasAssociatedWith"].values()) == {"SuperTwin 0.2.0", "token ana"}
    assert list(found["hadPlan"].values()) == [f"run-{iri.rpartition('/')[2]}"]

    # The process has ended; the run's record describes it.
    ((process, name),) = found["ranProcess"].items()
    assert name.startswith("sleep (")
    answer = stack.get(process.removeprefix(stack.base), "text/turtle")
    assert answer.status_code == 200, answer.text
    graph = Graph().parse(data=answer.text)
    node = URIRef(process)
    assert (node, RDF.type, ST.Process) in graph
    assert str(graph.value(node, ST.commandLine)) == "sleep 0.2"
    assert str(graph.value(node, ST.executable)).endswith("sleep")
    assert graph.value(node, ST.userName) is not None
