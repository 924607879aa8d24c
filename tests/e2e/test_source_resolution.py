"""Metrics that are sampled faster than their sources update them, on a stack."""

import json
from itertools import pairwise
from statistics import median

import httpx
import pytest

from tests.observed import operator, outcome, runs
from tests.stack import HOST, Stack

pytestmark = [pytest.mark.e2e, pytest.mark.serial]

# It uses this much CPU time. At the highest priority it gets nearly all of a CPU, also
# of a busy one: else most steps of 10 ms might be 0.
_BUSY = "import time\nwhile time.process_time() < 1.5: pass"
_COMMAND = ("nice", "-n", "-20", "python3", "-Sc", _BUSY)


def test_metric_sampled_faster_than_its_source_says_so(stack: Stack) -> None:
    metric = "kernel.percpu.cpu.user"
    words = ("--pin", "compact", "--threads", "1", "--metrics", metric, "--every")
    done = stack.run("observe", *words, "1ms", "--", *_COMMAND)
    ((_, iri),) = runs(done.stderr)
    outcome(stack, iri)
    query = ("query", "observations/statistics", "--id", iri, "--format", "json")
    rows = json.loads(stack.run(*query).stdout)
    assert {row["resolution"] for row in rows} == {"0.01"}
    assert {row["rateUnit"].rpartition("/")[2] for row in rows} == {"PPTH"}
    # Rates per 1 ms tick would reach 10,000 ms/s, rates between two updates 1,100.
    assert max(float(row["maximum"]) for row in rows) <= 1000
    assert max(float(row["median"]) for row in rows) > 0

    # Even for a busy CPU nine of ten 1 ms steps would be 0, and some 10 ms steps.
    busy = max(rows, key=lambda row: float(row["median"]))["instance"]
    output = stack.run("compare", iri, iri, "--series", metric, "--json").stdout
    drawn = {line["instance"]: line["values"] for line in json.loads(output)["series"]}
    assert median(drawn[busy]) > 0
    run = iri.rpartition("/")[2]
    asked = {"metric": metric, "points": 2000}
    path = f"{stack.api}/observations/{run}/series"
    picture = httpx.get(path, params=asked).raise_for_status().json()
    column = picture["values"][picture["instances"].index(busy)]
    assert median(value for value in column if value is not None) > 0
    assert min(b - a for a, b in pairwise(picture["times"])) > 0.009

    message = f"{metric}: its source updates it every 10 ms"
    # The samples of the first run show the resolution.
    again = stack.run("observe", *words, "1ms", "--", *_COMMAND)
    assert again.stderr.count(message) == 1
    plan = ("--period", "1ms", "--plan", "fine", "--yes")
    assert message in stack.run("sample", "add", metric, *plan).stderr
    slower = stack.run("sample", "add", metric, "--period", "1s", "--plan", "coarse")
    assert "its source" not in slower.stderr
    body = {"host": HOST, "metrics": [metric], "period": "5ms", "plan": "http"}
    with operator(stack, "planner") as client:
        answer = client.post("/plans", json={**body, "accept_cost": True})
    assert answer.json()["slower_sources"] == {metric: 0.01}
    for name in ("fine", "coarse", "http"):
        stack.run("sample", "remove", name)
