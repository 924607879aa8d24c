"""Plans from a real graph store, and operation without one."""

import time
from collections.abc import Callable

import httpx
import pytest

from core.stores.endpoint import Endpoint
from sampling.errors import PlanError
from sampling.plan_file.graph_plan import Plans, read_plan
from sampling.plan_file.notify import PlanName, notify
from sampling.plan_file.plan import PlannedMetric, SamplingPlan
from tests.sampler_bridge.heartbeat import Heartbeat
from tests.sampler_bridge.servers import NOWHERE, BridgeProcess, closes
from tests.servers import Fuseki, Pmcd, VictoriaMetrics

BASE = "http://localhost:8000"
PREFIX = "PREFIX st: <https://w3id.org/supertwin/ns#>"


@pytest.fixture(scope="module")
def graph(emptied_fuseki: Fuseki) -> Fuseki:
    return emptied_fuseki


def planned(host: str, metric: str, period: float, plan: str = "monitor") -> str:
    """One planned metric of a host, as the probe describes it."""
    return f"""
      <{BASE}/twin/{host}> a st:ComputeNode ; st:hostname "{host}" .
      <{BASE}/metric/{metric}> a st:Metric ; st:samplerName "{metric}" ;
        st:dbName "{metric.replace(".", "_")}" ; st:semantics st:Counter ;
        st:valueType "u64" .
      <{BASE}/twin/{host}/plan/{plan}.{metric}> a st:SamplingPlan ;
        st:planName "{plan}" ; st:ofHost <{BASE}/twin/{host}> ;
        st:samples <{BASE}/metric/{metric}> ; st:period {period} ."""


def put(graph: Fuseki, host: str, *metrics: tuple[str, float]) -> None:
    """Replace the plan of a host."""
    name = f"<{BASE}/graph/plans/{host}>"
    triples = "".join(planned(host, metric, period) for metric, period in metrics)
    insert = f"INSERT DATA {{ GRAPH {name} {{ {triples} }} }}"
    send(graph, f"DROP SILENT GRAPH {name} ; {insert}")


def add(graph: Fuseki, host: str, plan: str, metric: str, period: float) -> None:
    """Add a plan of one metric."""
    triples = planned(host, metric, period, plan)
    name = f"{BASE}/graph/plan/{host}/{plan}"
    send(graph, f"INSERT DATA {{ GRAPH <{name}> {{ {triples} }} }}")


def drop(graph: Fuseki, host: str, plan: str) -> None:
    """Remove an added plan."""
    send(graph, f"DROP GRAPH <{BASE}/graph/plan/{host}/{plan}>")


def send(graph: Fuseki, update: str) -> None:
    whole = {"update": f"{PREFIX} {update}"}
    httpx.post(f"{graph.url}/twin/update", data=whole).raise_for_status()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_plan_is_read_for_its_host_only(graph: Fuseki) -> None:
    put(graph, "a", ("kernel.all.pswitch", 1.0), ("kernel.all.intr", 0.5))
    put(graph, "b", ("kernel.all.load", 2.0))
    with Endpoint(f"{graph.url}/twin") as endpoint:
        assert read_plan(endpoint, "a") == SamplingPlan(
            (
                PlannedMetric("kernel.all.intr", "kernel_all_intr", 500),
                PlannedMetric("kernel.all.pswitch", "kernel_all_pswitch", 1000),
            )
        )
        assert read_plan(endpoint, 'c"} UNION {') == SamplingPlan()


def test_only_a_changed_plan_is_read_again(graph: Fuseki) -> None:
    put(graph, "c", ("kernel.all.pswitch", 1.0), ("kernel.all.intr", 1.0))
    put(graph, "d", ("kernel.all.load", 2.0))
    with Endpoint(f"{graph.url}/twin") as endpoint:
        plans = Plans(endpoint)
        before = plans.read()
        add(graph, "c", "a", "kernel.all.intr", 0.1)
        add(graph, "c", "z", "kernel.all.nprocs", 0.5)
        add(graph, "d", "z", "kernel.all.nprocs", 0.5)
        changed = plans.reread({PlanName("c", "a"), PlanName("c", "z")})
        assert changed["d"] == before["d"]
        everything = Plans(endpoint).read()
        assert changed["c"] == everything["c"] != before["c"]
        assert plans.reread({PlanName("d", "z")}) == everything == plans.read()
        drop(graph, "c", "a")
        assert plans.reread({PlanName("c", "a")}) == Plans(endpoint).read()


class CountingEndpoint(Endpoint):
    """An endpoint that counts the queries for results."""

    queries = 0

    def answer(self, sparql: str, media_type: str) -> bytes:
        self.queries += 1
        return super().answer(sparql, media_type)


def test_plans_are_read_only_from_another_version_of_the_graph(graph: Fuseki) -> None:
    put(graph, "v", ("kernel.all.load", 2.0))
    with CountingEndpoint(f"{graph.url}/twin") as endpoint:
        plans = Plans(endpoint)
        before, queries = plans.read(), endpoint.queries
        assert plans.read() is before and endpoint.queries == queries
        put(graph, "v", ("kernel.all.load", 1.0))
        after = plans.read()
        assert after["v"].plan.groups().keys() == {1000}
        assert endpoint.queries == 2 * queries
        assert plans.read() is after and endpoint.queries == 2 * queries


@pytest.mark.parametrize(
    ("host", "plan", "metric"),
    [
        ("new", "first", "kernel.all.load"),
        ("e", "counts", "perfevent.hwcounters.cycles.value"),
    ],
    ids=["the first plan of a host", "a counter"],
)
def test_larger_change_reads_everything(
    graph: Fuseki, host: str, plan: str, metric: str
) -> None:
    put(graph, "e", ("kernel.all.load", 2.0))
    with Endpoint(f"{graph.url}/twin") as endpoint:
        plans = Plans(endpoint)
        plans.read()
        socket = f'<{BASE}/twin/{host}> st:perfeventSocket "/run/counts"'
        send(graph, f"INSERT DATA {{ GRAPH <{BASE}/graph/counts> {{ {socket} }} }}")
        add(graph, host, plan, metric, 1.0)
        found = plans.reread({PlanName(host, plan)})
        assert found[host].counters == "/run/counts"
        assert metric in found[host].plan.names
        drop(graph, host, plan)
        send(graph, f"DROP GRAPH <{BASE}/graph/counts>")
        assert plans.reread({PlanName(host, plan)}) == Plans(endpoint).read()


def test_agent_of_a_plan_has_its_socket(graph: Fuseki) -> None:
    put(graph, "f", ("kernel.all.load", 2.0))
    node, pmda = f"<{BASE}/twin/f>", f"<{BASE}/twin/f/pmda/bpf>"
    runs = f'{node} st:runsAgent {pmda} . {pmda} st:pmdaName "bpf" ; '
    runs += 'st:agentSocket "/run/bpf"'
    with Endpoint(f"{graph.url}/twin") as endpoint:
        plans = Plans(endpoint)
        assert plans.read()["f"].agents == {}
        send(graph, f"INSERT DATA {{ GRAPH <{BASE}/graph/agents> {{ {runs} }} }}")
        add(graph, "f", "waits", "bpf.runq.latency", 1.0)
        found = plans.reread({PlanName("f", "waits")})
        assert found["f"].agents == {"bpf": "/run/bpf"}
        assert "bpf.runq.latency" in found["f"].plan.names
        drop(graph, "f", "waits")
        send(graph, f"DROP GRAPH <{BASE}/graph/agents>")
        assert plans.reread({PlanName("f", "waits")})["f"].agents == {}


def test_unreachable_graph_store_is_a_plan_error() -> None:
    with (
        Endpoint(f"{NOWHERE}/twin") as endpoint,
        pytest.raises(PlanError, match="does not answer"),
    ):
        read_plan(endpoint, "a")


@pytest.mark.serial
def test_changed_plan_loses_no_tick_of_kept_metrics(
    pmcd: Pmcd,
    store: VictoriaMetrics,
    graph: Fuseki,
    new_bridge: Callable[..., BridgeProcess],
    heartbeat: Heartbeat,
) -> None:
    put(graph, "n1", ("kernel.all.pswitch", 0.2), ("kernel.all.intr", 0.2))
    bridge = new_bridge(pmcd.address, store.url, fuseki=graph.url)
    bridge.start()
    bridge.wait_for(lambda status: status["written"] > 10)
    first = bridge.status()
    put(graph, "n1", ("kernel.all.pswitch", 0.2), ("sample.long.ten", 0.5))
    bridge.wait_for(lambda status: store.peek("sample_long_ten"))
    changed = store.peek("sample_long_ten")[0]
    bridge.wait_for(lambda _: store.peek("kernel_all_pswitch")[-1] > changed + 1000)
    assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    assert (first["plan"]["source"], first["plan"]["reason"]) == ("graph", None)
    ticks = values["kernel_all_pswitch"]
    heartbeat.assert_every_tick(ticks, 200)
    around = changed // 200 * 200
    bounds = around - 1000, around + 1000
    heartbeat.assert_every_tick(ticks, 200, bounds, strict=True)
    assert closes(status)
    assert max(values["kernel_all_intr"]) < max(ticks) - 500
    assert all(ms % 500 == 0 for ms in values["sample_long_ten"])
    again = new_bridge(pmcd.address, store.url, fuseki=NOWHERE)
    again.start()
    again.wait_for(lambda status: status["written"] > 5)
    assert again.status()["plan"]["source"] == "cache"
    assert again.status()["plan"]["metrics"] == 2
    assert again.end() == 0


@pytest.mark.serial
def test_notification_by_name_takes_effect_immediately(
    pmcd: Pmcd,
    store: VictoriaMetrics,
    graph: Fuseki,
    new_bridge: Callable[..., BridgeProcess],
) -> None:
    put(graph, "n1", ("kernel.all.pswitch", 0.2))
    bridge = new_bridge(pmcd.address, store.url, fuseki=graph.url)
    bridge.start()
    first = bridge.process()["plan"]
    # The bridge reads everything again after three seconds.
    bridge.wait_for(lambda _: bridge.process()["plan"] != first)
    told_ms = {}
    for metric in ("sample.long.ten", "sample.ulong.ten"):
        began_ms = now_ms()
        add(graph, "n1", "fast", metric, 0.01)
        assert notify(bridge.state, PlanName("n1", "fast"))
        bridge.wait_for(lambda status: status["plan"]["metrics"] == 2)
        time.sleep(0.3)
        dropped_ms = now_ms()
        drop(graph, "n1", "fast")
        assert notify(bridge.state, PlanName("n1", "fast"))
        bridge.wait_for(lambda status: status["plan"]["metrics"] == 1)
        told_ms[metric] = began_ms, dropped_ms
    assert bridge.end() == 0
    longest_ms = []
    for metric, (began_ms, dropped_ms) in told_ms.items():
        ticks = store.values()[metric.replace(".", "_")]
        took_ms = min(ticks) - began_ms, max(ticks) - dropped_ms
        print(f"{metric} came and went after {took_ms} ms")
        longest_ms.append(max(took_ms))
    # docs/reference/sampling.md gives the latency on an idle machine. Without a
    # notification, neither plan would arrive within three seconds. The machine may hold
    # up one of them.
    assert min(longest_ms) < 2900
