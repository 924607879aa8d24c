"""Sampling plans over HTTP."""

from collections.abc import Iterator

import httpx
import pytest

from core.stores.endpoint import Endpoint
from tests.api import graph

FAST = f"{graph.BASE}/graph/plans/n1/fast"


@pytest.fixture(scope="module", autouse=True)
def fast(fuseki: str) -> Iterator[None]:
    """Add a plan of one thread next to the monitor plan; remove it at the end."""
    node = f"{graph.BASE}/twin/n1"
    with Endpoint(f"{fuseki}/twin") as twin:
        twin.update(
            "PREFIX st: <https://w3id.org/supertwin/ns#> "
            f"INSERT DATA {{ GRAPH <{FAST}> {{ "
            f"<{node}/plan/fast.kernel.percpu.cpu.user> a st:SamplingPlan ; "
            f"st:ofHost <{node}> ; st:planName 'fast' ; st:period 0.01 ; "
            f"st:samples <{graph.BASE}/metric/kernel.percpu.cpu.user> ; "
            "st:samplesInstance 'cpu1' ; st:instancesFrom 'topology/socket-threads' ; "
            'st:queryParameters \'{"socket": "0"}\' ; '
            "st:samplesRole <http://x/r> ; st:samplesEvent 'msr::tsc' . "
            "<http://x/r> st:roleName 'Cycles' } }"
        )
        yield
        twin.update(f"DROP GRAPH <{FAST}>")


def test_plans_are_served_as_json(api: httpx.Client) -> None:
    answer = api.get("/plans", params={"host": "n1"})
    assert answer.headers["Content-Type"] == "application/json"
    fast, monitor = answer.json()
    assert fast == {
        **{"host": "n1", "node": f"{graph.BASE}/twin/n1", "plan": "fast"},
        **{"period": 0.01, "metrics": 1, "instances": 1},
        **{"query": "topology/socket-threads", "parameters": {"socket": "0"}},
        **{"roles": ["Cycles"], "events": ["msr::tsc"]},
    }
    assert (monitor["plan"], monitor["metrics"], monitor["instances"]) == (
        *("monitor", 4),
        None,
    )
    assert api.get("/plans").json() == [fast, monitor]
    assert api.get("/plans", params={"host": "n2"}).json() == []


def test_plans_are_served_as_a_page(api: httpx.Client) -> None:
    answer = api.get("/plans", headers={"Accept": "text/html"})
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "0.01 s" in answer.text
    assert "socket=0" in answer.text and "Cycles, msr::tsc" in answer.text
    empty = api.get("/plans", params={"host": "n2"}, headers={"Accept": "text/html"})
    assert "No plan samples anything" in empty.text


def test_invalid_requests_are_refused(api: httpx.Client) -> None:
    assert api.get("/plans", params={"host": "n9"}).status_code == 404
    assert api.get("/plans", params={"host": ".."}).status_code == 404
    assert api.get("/plans", headers={"Accept": "text/turtle"}).status_code == 406
    assert api.delete("/plans").status_code == 405


@pytest.mark.parametrize(("instance", "plans"), [("cpu0", 1), ("cpu1", 2)])
def test_series_names_the_plans_that_sample_it(
    api: httpx.Client, instance: str, plans: int
) -> None:
    path = f"/twin/n1/telemetry/kernel.percpu.cpu.user/{instance}"
    found = api.get(path, headers={"Accept": "application/n-triples"}).text
    assert found.count("#sampledBy>") == plans
    why = api.get(
        "/why",
        params={"host": "n1", "metric": "kernel.percpu.cpu.user", "instance": instance},
    ).json()
    assert len(why["plan"]) == plans
