"""The account of a whole stack in its status, series and pages; and `why`."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from core.linux.priority import attainable
from sampling.account.reasons import WORDS
from sampling.account.status_lines import status_path
from sampling.sources.own_metrics import OWN_METRICS
from tests.servers import wait_until
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e

EXPECTED = "supertwin.bridge.points.expected"


@pytest.fixture(scope="module", autouse=True)
def accounted(stack: Stack) -> None:
    wait_until(lambda: last(stack, EXPECTED) > 0, what="the account")


@contextmanager
def without_plan(stack: Stack, metric: str) -> Iterator[None]:
    """Remove a metric from the monitor set; restore the graph afterwards."""
    plan = f"<{stack.base}/twin/{HOST}/plan/monitor.{metric}>"
    triple = f"GRAPH <{stack.base}/graph/plans/{HOST}> {{ {plan} ?p ?o }}"
    asked = {"query": f"CONSTRUCT {{ {plan} ?p ?o }} WHERE {{ {triple} }}"}
    accept = {"Accept": "application/n-triples"}
    found = httpx.post(f"{stack.fuseki}/twin/sparql", data=asked, headers=accept)
    assert f"{plan} " in found.text
    stack.update(f"DELETE WHERE {{ {triple} }}")
    try:
        yield
    finally:
        graph = f"GRAPH <{stack.base}/graph/plans/{HOST}>"
        stack.update(f"INSERT DATA {{ {graph} {{ {found.text} }} }}")


def last(stack: Stack, metric: str) -> float:
    """Return the last value of a series, or 0 if there is none."""
    name = metric.replace(".", "_")
    query = f'sum(last_over_time({name}{{hostname="{HOST}"}}[10s]))'
    answer = httpx.get(f"{stack.store}/api/v1/query", params={"query": query})
    result = answer.json()["data"]["result"]
    return float(result[0]["value"][1]) if result else 0.0


def why(stack: Stack, *words: str) -> tuple[int, dict[str, Any]]:
    done = stack.run("why", HOST, *words, "--json", check=False)
    return done.returncode, json.loads(done.stdout)


def test_account_in_the_status_closes(stack: Stack) -> None:
    found = json.loads(stack.status("--json"))["account"]
    missing = sum(found["reasons"].values())
    assert found["expected"] == found["written"] + missing + found["queue"]["points"]
    assert found["expected"] > 0
    assert found["rss_bytes"] > 0 and found["fetch_seconds"]["p50"] > 0
    printed = stack.status()
    assert "expected = " in printed and " waiting" in printed


def test_status_fails_while_points_are_lost(stack: Stack) -> None:
    path = status_path(stack.home / "bridge", HOST)
    assert stack.run("status", check=False).returncode == 0
    # While stopped, the bridge does not overwrite its status.
    os.kill(bridge := stack.children()["bridge"]["pid"], signal.SIGSTOP)
    try:
        losing = {"seconds": 10, "points": 7, "reasons": {"late": 7}}
        path.write_text(json.dumps(json.loads(path.read_text()) | {"losing": losing}))
        done = stack.run("status", check=False)
    finally:
        os.kill(bridge, signal.SIGCONT)
    assert done.returncode == 1
    assert "late 7" in done.stdout


def test_status_names_the_priority_of_the_samplers(stack: Stack) -> None:
    found = json.loads(stack.status("--json"))["priority"]
    assert found["bridge"] == found["pmcd"] == attainable("realtime")
    line = f"sampling priority: bridge {found['bridge']}, pmcd {found['pmcd']}"
    assert line in stack.status()


def test_own_metrics_of_the_bridge_are_in_the_graph(stack: Stack) -> None:
    for metric in OWN_METRICS:
        code, found = why(stack, metric.name)
        assert (code, found["verdict"]) == (0, "data"), found
        assert found["plan"] == ["monitor"]
        instance = "~" if metric.domain is None else None
        if instance:
            path = f"/twin/{HOST}/telemetry/{metric.name}/{instance}"
            assert stack.get(path, "text/turtle").status_code == 200
    rows = stack.run("query", "monitor/bridge", "--host", HOST).stdout
    assert all(word in rows for word in WORDS)


def test_bridge_dashboard_draws_all_own_metrics(stack: Stack) -> None:
    page = stack.get("/dashboards/bridge", "text/html", host=HOST)
    assert page.status_code == 200 and "Points missing" in page.text
    spec = stack.get("/dashboards/bridge", "application/json", host=HOST).json()
    panels = [panel for section in spec["sections"] for panel in section["panels"]]
    assert len(panels) == 13
    assert all(panel["series"] and not panel["why"] for panel in panels)


def test_why_answers_on_a_running_stack(stack: Stack) -> None:
    assert why(stack, "kernel.all.pswitch")[0] == 0
    for words, verdict in (
        (("kernel.all.pswich",), "unknown metric"),
        (("kernel.percpu.cpu.user", "cpu99999"), "unknown instance"),
        (("hinv.ncpu",), "not planned"),
    ):
        code, found = why(stack, *words)
        assert (code, found["verdict"]) == (1, verdict)
    assert "'kernel.all.pswitch'" in why(stack, "kernel.all.pswich")[1]["reason"]


def test_removed_plan_stays_in_the_history(stack: Stack) -> None:
    metric = "kernel.all.nprocs"
    wait_until(lambda: last(stack, metric) > 0, what="its values")
    with without_plan(stack, metric):
        wait_until(lambda: why(stack, metric)[1]["verdict"] == "plan removed")
        code, found = why(stack, metric)
        api = stack.get("/why", host=HOST, metric=metric).json()
    assert code == 1
    assert found["plan"] == [] and found["age_s"] > 5
    assert (api["verdict"], api["selector"]) == (found["verdict"], found["selector"])
