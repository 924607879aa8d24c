"""Hosts that come, move and go in the graph, next to one that stays."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from sampling.plan_file.notify import notify
from tests.sampler_bridge.heartbeat import Heartbeat
from tests.sampler_bridge.servers import NOWHERE, BridgeProcess, closes
from tests.sampler_bridge.test_graph_plan import BASE, PREFIX, put
from tests.servers import Fuseki, Pmcd, VictoriaMetrics, wait_until

NewBridge = Callable[..., BridgeProcess]
METRIC = "sample.milliseconds"


@pytest.fixture(scope="module")
def graph(emptied_fuseki: Fuseki) -> Fuseki:
    return emptied_fuseki


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Pmcd]:
    with Pmcd(tmp_path / "other", sample=True) as server:
        yield server


def place(graph: Fuseki, host: str, address: str) -> None:
    """Set a host's address in the graph; an empty address also removes its plan."""
    name = f"<{BASE}/graph/register/{host}>"
    insert = f'<{BASE}/twin/{host}> st:address "{address}"' if address else ""
    plan = "" if address else f"DROP SILENT GRAPH <{BASE}/graph/plans/{host}> ;"
    update = (
        f"{PREFIX} {plan} DROP SILENT GRAPH {name} ; "
        f"INSERT DATA {{ GRAPH {name} {{ {insert} }} }}"
    )
    httpx.post(f"{graph.url}/twin/update", data={"update": update}).raise_for_status()


def wait_for_process(bridge: BridgeProcess, hosts: set[str]) -> None:
    wait_until(lambda: set(bridge.process()["hosts"]) == hosts, what=f"{hosts}")


@pytest.mark.serial
def test_changing_hosts_do_not_disturb_others(
    pmcd: Pmcd,
    other: Pmcd,
    store: VictoriaMetrics,
    graph: Fuseki,
    new_bridge: NewBridge,
    heartbeat: Heartbeat,
) -> None:
    put(graph, "n1", (METRIC, 0.1))
    bridge = new_bridge(pmcd.address, store.url, fuseki=graph.url)
    bridge.start()
    bridge.wait_for(lambda status: status["written"] > 10)

    put(graph, "n2", (METRIC, 0.1))
    put(graph, "n3", (METRIC, 0.1))
    place(graph, "n2", pmcd.address)
    notify(bridge.state)
    wait_for_process(bridge, {"n1", "n2"})
    bridge.wait_for(lambda status: status["written"] > 10, "n2")
    assert "no address" in bridge.process()["unreached"]["n3"]
    assert bridge.process()["unusable"] == []  # a bridge of its own may sample it

    place(graph, "n2", other.address)
    notify(bridge.state)
    bridge.wait_for(lambda s: s["pcp"]["address"] == other.address, "n2")
    written = bridge.status("n2")["written"]
    bridge.wait_for(lambda status: status["written"] > written + 10, "n2")
    moved = bridge.status("n2")

    place(graph, "n2", "")
    notify(bridge.state)
    wait_for_process(bridge, {"n1"})
    gone_ms = time.time_ns() // 1_000_000
    bridge.wait_for(lambda status: status["last_tick_ms"] > gone_ms + 2000)
    assert bridge.end() == 0
    assert moved["pcp"]["connected"] and closes(moved)
    status, values = bridge.status(), store.values('{hostname="n1"}')
    heartbeat.assert_every_tick(values["sample_milliseconds"], 100)
    assert closes(status)
    ticks = store.values('{hostname="n2"}')["sample_milliseconds"]
    assert max(ticks) <= gone_ms
    # No tick is missing between the two addresses of the host either.
    heartbeat.assert_every_tick(ticks, 100)
    assert store.label_values("hostname") == ["n1", "n2"]


def test_without_the_graph_all_hosts_continue(
    pmcd: Pmcd, store: VictoriaMetrics, graph: Fuseki, new_bridge: NewBridge
) -> None:
    for host in ("n1", "n4"):
        put(graph, host, (METRIC, 0.1))
    place(graph, "n4", pmcd.address)
    bridge = new_bridge(pmcd.address, store.url, fuseki=graph.url)
    bridge.start()
    wait_for_process(bridge, {"n1", "n4"})
    bridge.wait_for(lambda status: status["written"] > 10, "n4")
    assert bridge.end() == 0
    place(graph, "n4", "")
    again = new_bridge(pmcd.address, store.url, fuseki=NOWHERE)
    again.start()
    again.wait_for(lambda status: status["written"] > 10, "n4")
    assert again.end() == 0
    assert closes(again.status("n4"))


def test_points_of_a_removed_host_are_sent(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    store.end(9)
    bridge = new_bridge(pmcd.address, store.url)
    bridge.know(n5=pmcd.address)
    bridge.plan([METRIC], 0.1, "n5")
    bridge.start()
    bridge.wait_for(lambda status: status["queue"]["points"] > 10, "n5")
    assert bridge.end() == 0
    waiting = bridge.status("n5")["queue"]["points"]
    bridge.know()
    store.start()
    bridge.start()
    wait_for_process(bridge, {"n1"})
    wait_until(lambda: len(store.peek('{hostname="n5"}')) >= waiting)
    assert len(store.peek('{hostname="n5"}')) == waiting
    assert bridge.end() == 0


def test_state_of_a_single_host_bridge_is_taken_over(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    store.end(9)
    bridge = new_bridge(pmcd.address, store.url)
    bridge.plan([METRIC], 0.1)
    bridge.start()
    bridge.wait_for(lambda status: status["queue"]["points"] > 10)
    assert bridge.end() == 0
    waiting = bridge.status()["queue"]["points"]
    # The layout of the folder before there were several hosts.
    for path in list(bridge.own.iterdir()):
        path.rename(bridge.state / path.name)
    bridge.own.rmdir()
    store.start()
    bridge.start()
    bridge.wait_for(lambda status: status["written"] > waiting)
    assert bridge.end() == 0
    status = bridge.status()
    assert status["carried"] == waiting and closes(status)
    assert status["uncounted"]["reason"] == "the bridge was stopped"
    assert len(store.values()["sample_milliseconds"]) == status["written"]
    assert not (bridge.state / "log").exists()
