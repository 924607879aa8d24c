"""/why and /health combine the graph, the bridge's status file and the store."""

import os
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.servers import write_duty
from tests.bridge_status import write_status

STATUS: dict[str, Any] = {
    "pid": 1,
    "started": "2026-11-21T00:00:00Z",
    "host": "n1",
    "pcp": {"address": "local:", "connected": True, "reason": None},
    "last_tick_ms": 0,
    "store": {"up": True, "reason": None},
    "metrics": {
        "denied.metric": {
            "reason": "no permission",
            "detail": "No permission to perform requested operation",
        },
        "broken.metric": {
            "reason": "not supported",
            "detail": "Metric not supported by this version",
        },
    },
}


@pytest.fixture
def bridge(home: Path) -> Path:
    """Write the status file of a running bridge."""
    status = STATUS | {"last_tick_ms": int(time.time() * 1000)}
    return write_status(home / "bridge", status)


def why(api: httpx.Client, metric: str, host: str = "n1", **more: str) -> Any:
    answer = api.get("/why", params={"host": host, "metric": metric, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


CPU = "kernel.percpu.cpu.user"
SPR = "perfevent.hwcounters.spr__"


@pytest.mark.parametrize(
    ("metric", "more", "verdict"),
    [
        (CPU, {"instance": "cpu1"}, "stale"),
        (CPU, {"instance": "cpu9"}, "unknown instance"),
        (CPU, {"host": "n9"}, "unknown host"),
        (CPU, {"host": "n2"}, "not exposed by host"),
        ("no.such", {}, "unknown metric"),
        ("other.metric", {}, "not exposed by host"),
        ("mem.util.free", {"instance": "cpu0"}, "unknown instance"),
        ("proc.psinfo.utime", {"instance": "9 x"}, "not planned"),
        ("denied.metric", {}, "no permission"),
        ("broken.metric", {}, "PCP error"),
        ("kernel.all.load", {}, "not yet sampled"),
        ("mem.util.free", {}, "plan removed"),
        ("perfevent.hwcounters.INST_RETIRED_ANY.value", {}, "counter not on this PMU"),
        (f"{SPR}INST_RETIRED_ANY.value", {}, "counter not on this PMU"),
        (f"{SPR}NO_SUCH.value", {}, "unknown metric"),
        ("perfevent.hwcounters.zz__INST_RETIRED_ANY.value", {}, "unknown metric"),
        ("INST_RETIRED:ANY", {}, "counter not on this PMU"),
        ('a" } #', {"host": 'b" } #', "instance": "\\"}, "unknown host"),
    ],
)
@pytest.mark.usefixtures("bridge")
def test_each_situation_has_its_verdict(
    api: httpx.Client, metric: str, more: dict[str, str], verdict: str
) -> None:
    found = why(api, metric, **more)
    assert found["verdict"] == verdict
    assert found["metric"] == metric and found["reason"]


@pytest.mark.usefixtures("bridge")
def test_stale_series_shows_its_last_value(api: httpx.Client, stored_at: float) -> None:
    found = why(api, CPU, instance="cpu1")
    assert found["last_value"] == 7
    assert 3500 < found["age_s"] - (time.time() - stored_at) < 3700
    assert found["plan"] == ["monitor"] and found["period"] == 1.0
    assert found["selector"].endswith('instname="cpu1"}')


@pytest.mark.usefixtures("bridge")
def test_verdict_has_the_last_text_of_a_metric(api: httpx.Client) -> None:
    found = why(api, "kernel.uname.release")
    assert (found["last_text"], found["last_value"]) == ("6.2.0", 1)
    assert why(api, CPU, instance="cpu1")["last_text"] is None


@pytest.mark.usefixtures("bridge")
def test_fresh_sample_gives_verdict_data(api: httpx.Client, store: str) -> None:
    point = f'kernel_percpu_cpu_user{{hostname="n1",instname="cpu0"}} 9 {_now()}\n'
    httpx.post(f"{store}/api/v1/import/prometheus", content=point).raise_for_status()
    httpx.get(f"{store}/internal/force_flush").raise_for_status()
    found = why(api, CPU, instance="cpu0")
    assert found["verdict"] == "data"
    assert found["last_value"] == 9
    for more in ({}, {"instance": ""}):
        found = why(api, CPU, **more)
        assert found["verdict"] == "data"
        assert "name an instance" in found["reason"]
        assert found["last_value"] is None


@pytest.mark.usefixtures("bridge")
@pytest.mark.parametrize(
    ("metric", "near"),
    [
        ("kernel.percpu.cpu.usr", "'kernel.percpu.cpu.user'"),
        ("kernel.percpu", "'kernel.percpu.cpu.user'"),
        ("mem.util.fre", "'mem.util.free'"),
    ],
)
def test_unknown_metric_suggests_similar_ones(
    api: httpx.Client, metric: str, near: str
) -> None:
    found = why(api, metric)
    assert found["verdict"] == "unknown metric"
    assert f"is it {near}" in found["reason"]


@pytest.mark.usefixtures("bridge")
def test_unknown_metric_without_similar_names(api: httpx.Client) -> None:
    found = why(api, "mem.rapl.rate")  # two thirds of its letters match another name
    assert found["verdict"] == "unknown metric"
    assert "is it" not in found["reason"]


@pytest.mark.usefixtures("bridge")
def test_counter_without_a_place_on_the_pmu_is_multiplexed(
    api: httpx.Client, store: str
) -> None:
    name = "perfevent_hwcounters_CYCLES"
    for duty, verdict in (("0.25", "data"), ("0", "multiplexed")):
        write_duty(store, "n1", name, duty)
        metric = "perfevent.hwcounters.CYCLES.value"
        found = why(api, metric, instance="cpu0")
        assert (found["verdict"], found["duty_cycle"]) == (verdict, float(duty))


@pytest.mark.usefixtures("bridge")
def test_old_duty_cycle_explains_no_gap(api: httpx.Client, store: str) -> None:
    write_duty(store, "n1", "perfevent_hwcounters_LOADS", "0", age=60)
    found = why(api, "perfevent.hwcounters.LOADS.value", instance="cpu0")
    assert (found["verdict"], found["duty_cycle"]) != ("multiplexed", 0)


def test_host_that_is_not_sampled_has_its_verdict(
    api: httpx.Client, bridge: Path
) -> None:
    write_status(bridge.parent, STATUS | {"host": "n9"})
    found = why(api, "kernel.all.load")
    assert found["verdict"] == "host not sampled"
    assert found["reason"].startswith("the bridge here samples 'n9', but not 'n1': ")
    write_status(bridge.parent, STATUS | {"host": "n9"}, {"n1": "it has no address"})
    found = why(api, "kernel.all.load")
    assert found["verdict"] == "host not sampled"
    assert found["reason"] == "the bridge here cannot reach 'n1': it has no address"


def test_lagging_bridge_is_reported(api: httpx.Client, bridge: Path) -> None:
    queue = {"points": 12_000, "oldest_ms": int(time.time() * 1000) - 60_000}
    write_status(bridge.parent, STATUS | {"queue": queue})
    found = why(api, "kernel.all.load")
    assert found["verdict"] == "bridge behind"
    assert "12000 points wait" in found["reason"]
    assert "for up to 6" in found["reason"]


def test_unreadable_log_is_reported(api: httpx.Client, bridge: Path) -> None:
    broken = {"points": 7, "reason": "the log /log/1.log cannot be read: fix its disk"}
    write_status(bridge.parent, STATUS | {"queue": broken})
    message = f"points of n1 do not reach the store: {broken['reason']}"
    found = why(api, "kernel.all.load")
    assert (found["verdict"], found["reason"]) == ("log down", message)
    answer = api.get("/health")
    assert answer.status_code == 503
    assert answer.json()["services"]["bridge"]["reason"] == message


def test_health_is_503_while_points_are_lost(api: httpx.Client, bridge: Path) -> None:
    losing = {"seconds": 10, "points": 1200, "reasons": {"late": 1199, "log full": 1}}
    write_status(bridge.parent, STATUS | {"losing": losing})
    answer = api.get("/health")
    assert answer.status_code == 503
    assert answer.json()["services"]["bridge"]["reason"] == (
        "points of n1 are lost: 1,200 in the last 10 s (late 1,199, log full 1)"
    )
    none = {"seconds": 10, "points": 0, "reasons": {}}
    write_status(bridge.parent, STATUS | {"losing": none})
    assert api.get("/health").status_code == 200


def test_health_is_503_while_points_of_another_host_are_lost(
    api: httpx.Client, bridge: Path
) -> None:
    losing = {"seconds": 10, "points": 42, "reasons": {"source down": 42}}
    away = {"losing": losing, "queue": {"reason": None}}
    stuck = {"losing": losing, "queue": {"reason": "its disk is full"}}
    others = {"node9": away, "node10": stuck, "node11": {"queue": {"reason": None}}}
    write_status(bridge.parent, STATUS, others=others)
    answer = api.get("/health")
    assert answer.status_code == 503
    assert answer.json()["services"]["bridge"]["reason"] == (
        "points of node9 are lost: 42 in the last 10 s (source down 42); "
        "points of node10 do not reach the store: its disk is full"
    )
    write_status(bridge.parent, STATUS, others={f"n1{n}": away for n in range(9)})
    reason = api.get("/health").json()["services"]["bridge"]["reason"]
    assert "points of n14 are" in reason and reason.endswith("; 4 more hosts")


def test_health_is_503_while_another_host_cannot_be_sampled(
    api: httpx.Client, bridge: Path
) -> None:
    away = {"n2": "it has a plan, but no address", "n3": "its log: a bad block"}
    write_status(bridge.parent, STATUS, away)
    assert api.get("/health").status_code == 200  # n2 may have its own bridge
    write_status(bridge.parent, STATUS, away, unusable=["n3"])
    answer = api.get("/health")
    assert answer.status_code == 503
    reason = answer.json()["services"]["bridge"]["reason"]
    assert reason == "the bridge here cannot reach 'n3': its log: a bad block"


def test_health_reports_that_the_local_host_is_not_sampled(
    api: httpx.Client, bridge: Path
) -> None:
    write_status(bridge.parent, STATUS | {"host": "n2"}, {"n1": "its log: a bad block"})
    assert why(api, "kernel.all.load")["verdict"] == "host not sampled"
    answer = api.get("/health")
    assert answer.status_code == 503
    services = answer.json()["services"]
    assert "its log: a bad block" in services["bridge"]["reason"]
    assert not services["pmcd"]["ok"]


def _now() -> int:
    return int(time.time() * 1000)


def test_stopped_bridge_is_reported(api: httpx.Client, bridge: Path) -> None:
    os.utime(bridge, (time.time() - 100,) * 2)
    assert why(api, "kernel.all.load")["verdict"] == "bridge down"
    bridge.unlink()
    assert why(api, "kernel.all.load")["verdict"] == "bridge down"


def test_stopped_pmcd_is_reported(api: httpx.Client, bridge: Path) -> None:
    pcp = {"connected": False, "reason": "Connection refused"}
    write_status(bridge.parent, STATUS | {"pcp": pcp})
    found = why(api, "kernel.all.load")
    assert found["verdict"] == "PMCD down"
    assert "Connection refused" in found["reason"]


def test_health_is_200_when_all_services_run(api: httpx.Client, bridge: Path) -> None:
    answer = api.get("/health")
    found = answer.json()
    assert answer.status_code == 200, answer.text
    assert found["status"] == "ok" and found["host"] == "n1" and found["version"]
    assert found["services"].keys() == {"fuseki", "store", "bridge", "pmcd"}
    assert all(service["ok"] for service in found["services"].values())
    assert found["services"]["fuseki"]["ms"] > 0


def test_health_is_503_when_a_service_is_unreachable(
    api: httpx.Client, bridge: Path
) -> None:
    pcp = {"connected": False, "reason": "Connection refused"}
    write_status(bridge.parent, STATUS | {"pcp": pcp})
    answer = api.get("/health")
    assert answer.status_code == 503
    assert answer.json()["status"] == "degraded"
    assert answer.json()["services"]["pmcd"]["reason"] == "Connection refused"
    bridge.unlink()
    services = api.get("/health").json()["services"]
    assert not services["bridge"]["ok"] and services["fuseki"]["ok"]


def test_openapi_describes_every_route(api: httpx.Client) -> None:
    paths = api.get("/openapi.json").json()["paths"]
    assert paths.keys() >= {
        *("/sparql", "/queries", "/queries/{group}/{name}", "/twin", "/twin/{host}"),
        *("/twin/{host}/{kind}/{id}", "/why", "/health", "/context.jsonld"),
        "/twin/{host}/telemetry/{metric}/{instance}",
        "/twin/{host}/instance/{domain}/{instance}",
        *("/metric/{name}", "/indom/{id}", "/pmu/{pmu}", "/pmu/{pmu}/{event}"),
    }
    for path, methods in paths.items():
        for method, operation in methods.items():
            assert operation["summary"], (path, method)
            assert operation["description"], (path, method)
    assert "query" in {p["name"] for p in paths["/sparql"]["get"]["parameters"]}
    body = paths["/sparql"]["post"]["requestBody"]["content"]
    assert "application/sparql-query" in body
