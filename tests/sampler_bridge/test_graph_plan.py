"""The plan as a real graph store has it, and without one."""

import time
from collections.abc import Callable

import httpx
import pytest

from queries.endpoint import Endpoint
from sampler_bridge.errors import PlanError
from sampler_bridge.plan.graph_plan import read_plan
from sampler_bridge.plan.plan import Plan, Planned
from tests.sampler_bridge.servers import NOWHERE, BridgeProcess
from tests.servers import Fuseki, Pmcd, VictoriaMetrics

BASE = "http://localhost:8000"
PREFIX = "PREFIX st: <https://w3id.org/supertwin/ns#>"


@pytest.fixture(scope="module")
def graph(emptied_fuseki: Fuseki) -> Fuseki:
    return emptied_fuseki


def planned(host: str, metric: str, period: float) -> str:
    """One metric of a host's plan, as the probe describes it."""
    return f"""
      <{BASE}/twin/{host}> a st:ComputeNode ; st:hostname "{host}" .
      <{BASE}/metric/{metric}> a st:Metric ; st:samplerName "{metric}" ;
        st:dbName "{metric.replace(".", "_")}" ; st:semantics st:Counter ;
        st:valueType "u64" .
      <{BASE}/twin/{host}/plan/monitor.{metric}> a st:SamplingPlan ;
        st:planName "monitor" ; st:ofHost <{BASE}/twin/{host}> ;
        st:samples <{BASE}/metric/{metric}> ; st:period {period} ."""


def put(graph: Fuseki, host: str, *metrics: tuple[str, float]) -> None:
    """Replace the plan of a host."""
    name = f"<{BASE}/graph/plans/{host}>"
    triples = "".join(planned(host, metric, period) for metric, period in metrics)
    insert = f"INSERT DATA {{ GRAPH {name} {{ {triples} }} }}"
    update = f"{PREFIX} DROP SILENT GRAPH {name} ; {insert}"
    httpx.post(f"{graph.url}/twin/update", data={"update": update}).raise_for_status()


def test_a_plan_is_read_for_its_host_alone(graph: Fuseki) -> None:
    put(graph, "a", ("kernel.all.pswitch", 1.0), ("kernel.all.intr", 0.5))
    put(graph, "b", ("kernel.all.load", 2.0))
    with Endpoint(f"{graph.url}/twin") as endpoint:
        assert read_plan(endpoint, "a") == Plan(
            (
                Planned("kernel.all.intr", "kernel_all_intr", 500),
                Planned("kernel.all.pswitch", "kernel_all_pswitch", 1000),
            )
        )
        assert read_plan(endpoint, 'c"} UNION {') == Plan()


def test_no_graph_store_is_a_plan_error() -> None:
    with (
        Endpoint(f"{NOWHERE}/twin") as endpoint,
        pytest.raises(PlanError, match="does not answer"),
    ):
        read_plan(endpoint, "a")


def test_a_changed_plan_takes_effect_and_costs_no_tick_of_what_stays(
    pmcd: Pmcd,
    store: VictoriaMetrics,
    graph: Fuseki,
    new_bridge: Callable[..., BridgeProcess],
) -> None:
    put(graph, "n1", ("kernel.all.pswitch", 0.2), ("kernel.all.intr", 0.2))
    bridge = new_bridge(pmcd.address, store.url, fuseki=graph.url)
    bridge.start()
    bridge.wait_for(lambda status: status["written"] > 10)
    first = bridge.status()
    put(graph, "n1", ("kernel.all.pswitch", 0.2), ("sample.long.ten", 0.5))
    bridge.wait_for(lambda status: store.peek("sample_long_ten"))
    time.sleep(1)
    assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    assert (first["plan"]["source"], first["plan"]["reason"]) == ("graph", None)
    ticks = sorted(values["kernel_all_pswitch"])
    absent = (ticks[-1] - ticks[0]) // 200 + 1 - len(ticks)
    assert absent <= status["late"]
    assert max(values["kernel_all_intr"]) < ticks[-1] - 500
    assert all(ms % 500 == 0 for ms in values["sample_long_ten"])
    again = new_bridge(pmcd.address, store.url, fuseki=NOWHERE)
    again.start()
    again.wait_for(lambda status: status["written"] > 5)
    assert again.status()["plan"]["source"] == "cache"
    assert again.status()["plan"]["metrics"] == 2
    assert again.end() == 0
