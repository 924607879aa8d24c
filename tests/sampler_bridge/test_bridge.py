"""The whole bridge process between a real PMCD and a real store, failures included."""

import math
import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sampling.account.reasons import GapReason
from sampling.plan_file.monitor import load_monitor, plan_names
from tests.sampler_bridge.heartbeat import Heartbeat
from tests.sampler_bridge.servers import NOWHERE, BridgeProcess, closes
from tests.servers import Pmcd, VictoriaMetrics, wait_until

NewBridge = Callable[..., BridgeProcess]
Values = Mapping[str, Mapping[int, float]]

FAST = 0.2  # seconds
# The reasons for which points may be missing on a busy machine.
BUSY = (GapReason.LATE, GapReason.SLOW)
FEW = ["kernel.all.pswitch", "kernel.percpu.cpu.user", "sample.milliseconds"]


def assert_every_tick(
    heartbeat: Heartbeat,
    values: Values,
    bounds: tuple[int, int],
    period_ms: int,
    late: int,
) -> None:
    """Assert that each series has every tick within bounds (ms).

    Ticks may be absent where the machine was held up: at most ``late`` points. Network
    interfaces are checked over their own span: other tests create some.
    """
    assert values
    absent = 0
    for series, points in values.items():
        own = series.startswith("network_interface")
        first, last = (min(points), max(points)) if own else bounds
        heartbeat.assert_every_tick(points, period_ms, (first, last))
        within = sum(first <= ms <= last for ms in points)
        absent += (last - first) // period_ms + 1 - within
    assert absent <= late


def assert_all_stored(status: Mapping[str, Any], values: Values) -> None:
    """Assert that the account closes and matches the store."""
    assert closes(status)
    assert status["queue"]["points"] == 0
    assert status["written"] == sum(len(points) for points in values.values())


def other_reasons(status: Mapping[str, Any]) -> dict[str, int]:
    """Missing points whose reason is not a busy machine."""
    reasons = status["reasons"]
    return {why: n for why, n in reasons.items() if n and why not in BUSY}


def late(status: Mapping[str, Any]) -> int:
    """How many points are missing because the machine was busy."""
    return sum(status["reasons"][why] for why in BUSY)


def bounds(values: Values) -> tuple[int, int]:
    everything = {ms for points in values.values() for ms in points}
    return min(everything), max(everything)


@pytest.mark.serial
def test_monitor_set_is_complete_for_ten_seconds(
    pmcd: Pmcd,
    store: VictoriaMetrics,
    new_bridge: NewBridge,
    heartbeat: Heartbeat,
) -> None:
    bridge = new_bridge(pmcd.address, store.url)
    planned = plan_names(load_monitor(), pmcd.names())
    bridge.sample(planned, 1.0)
    bridge.wait_for(lambda status: status["written"])
    wait_until_visible(store, "kernel_all_pswitch")
    begun = bridge.status()["last_tick_ms"]
    bridge.wait_for(lambda status: status["last_tick_ms"] >= begun + 9000)
    assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    first, last = bounds(values)
    assert last - first >= 9000
    assert first % 1000 == 0
    assert_every_tick(heartbeat, values, (first, last), 1000, late(status))
    assert_all_stored(status, values)
    assert status["last_tick_ms"] == last
    assert set(other_reasons(status)) <= {GapReason.ABSENT}
    assert len({series.split("{")[0] for series in values}) >= 35
    assert status["plan"]["metrics"] == len(planned)


def wait_until_visible(store: VictoriaMetrics, name: str) -> None:
    """Wait until a query finds the point of the bridge's next tick."""
    tick = math.ceil(time.time())

    def found() -> bool:
        points = store.peek(name)
        return bool(points) and points[-1] >= tick * 1000

    wait_until(found)


@pytest.mark.serial
def test_restarted_store_gets_every_tick_from_before_and_during_the_outage(
    pmcd: Pmcd,
    store: VictoriaMetrics,
    new_bridge: NewBridge,
    heartbeat: Heartbeat,
) -> None:
    bridge = new_bridge(pmcd.address, store.url)
    bridge.sample(FEW, FAST)
    bridge.wait_for(lambda status: status["written"] > 50)
    store.end(9)
    bridge.wait_for(lambda status: not status["store"]["up"])
    assert "is it running" in bridge.status()["store"]["reason"]
    bridge.wait_for(lambda status: status["queue"]["points"] > 20)
    store.start()
    bridge.wait_for(lambda status: status["resent"] > 0)
    bridge.wait_for(lambda status: status["store"]["up"])
    assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    assert bounds(values)[1] == status["last_tick_ms"]
    assert_every_tick(heartbeat, values, bounds(values), 200, late(status))
    assert_all_stored(status, values)
    assert other_reasons(status) == {}


@pytest.mark.serial
def test_killed_bridge_sends_every_tick_up_to_the_kill(
    pmcd: Pmcd,
    store: VictoriaMetrics,
    new_bridge: NewBridge,
    heartbeat: Heartbeat,
) -> None:
    """The store is unreachable when the bridge is killed, so all depends on the log."""
    bridge = new_bridge(pmcd.address, store.url)
    bridge.sample(FEW, FAST)
    bridge.wait_for(lambda status: status["written"] > 20)
    store.end(9)
    bridge.wait_for(lambda status: status["queue"]["points"] > 20)
    seen = bridge.status()
    killed = time.time_ns() // 1_000_000
    bridge.end(9)
    store.start()
    bridge.start()
    bridge.wait_for(lambda status: status["written"] > status["carried"])
    assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    first = bounds(values)[0]
    assert_every_tick(heartbeat, values, (first, seen["last_tick_ms"]), 200, late(seen))
    for points in values.values():
        before = (first, (killed - 100) // 200 * 200)
        heartbeat.assert_every_tick(points, 200, before)
    assert status["carried"] > 20
    assert closes(status)


@pytest.mark.serial
def test_stalled_pmcd_shifts_no_timestamp(
    own_pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    bridge = new_bridge(own_pmcd.address, store.url)
    bridge.sample(["kernel.all.uptime"], 0.2)
    bridge.wait_for(lambda status: status["written"] > 5)
    os.kill(own_pmcd.pid, signal.SIGSTOP)
    time.sleep(2.5)
    os.kill(own_pmcd.pid, signal.SIGCONT)
    resumed = bridge.status()["written"]
    bridge.wait_for(lambda status: status["written"] > resumed + 5)
    assert bridge.end() == 0
    (points,) = store.values().values()
    offsets = [value - ms / 1000 for ms, value in points.items()]
    assert max(offsets) - min(offsets) < 0.5
    assert closes(bridge.status())


@pytest.mark.serial
def test_killed_pmcd_leaves_a_gap_of_its_downtime(
    own_pmcd: Pmcd,
    store: VictoriaMetrics,
    new_bridge: NewBridge,
    heartbeat: Heartbeat,
) -> None:
    bridge = new_bridge(own_pmcd.address, store.url)
    bridge.sample(FEW, FAST)
    bridge.wait_for(lambda status: status["written"] > 20)
    killed = time.time_ns() // 1_000_000
    own_pmcd.end(9)
    bridge.wait_for(lambda status: not status["pcp"]["connected"])
    away = bridge.status()
    time.sleep(1)
    own_pmcd.start()
    back = time.time_ns() // 1_000_000
    bridge.wait_for(lambda status: (status["last_tick_ms"] or 0) > back + 1500)
    written = bridge.status()["written"]
    bridge.wait_for(lambda status: status["written"] > written + 20)
    assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    first, last = bounds(values)
    before = (first, killed // 200 * 200 - 200)
    # Starts at its first answer.
    there = {ms for points in values.values() for ms in points}
    after = (min(ms for ms in there if ms > killed + 200), last)
    assert_every_tick(heartbeat, values, before, 200, late(status))
    assert_every_tick(heartbeat, values, after, 200, late(status))
    assert_all_stored(status, values)
    due = ((last - first) // 200 + 1) * len(values)
    beyond = sum(status["reasons"].values()) - (due - status["written"])
    assert 0 <= beyond <= late(status)
    assert set(other_reasons(status)) <= {GapReason.DOWN}
    assert all("check that it runs" in why for why in status["missing"]["source down"])
    assert set(away["metrics"]) == set(FEW)
    assert "check that it runs" in away["pcp"]["reason"]
    assert status["metrics"] == {}


@pytest.mark.serial
def test_bad_name_in_the_plan_affects_only_itself(
    pmcd: Pmcd,
    store: VictoriaMetrics,
    new_bridge: NewBridge,
    heartbeat: Heartbeat,
) -> None:
    bridge = new_bridge(pmcd.address, store.url)
    bridge.sample(["no.such.metric", "sample.event.records", *FEW], FAST)
    bridge.wait_for(lambda status: status["written"] > 20)
    assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    assert status["metrics"] == {
        "no.such.metric": {
            "reason": "unknown metric",
            "detail": "Unknown metric name",
        },
        "sample.event.records": {
            "reason": "not a number",
            "detail": "events are not stored",
        },
    }
    assert set(other_reasons(status)) == {GapReason.UNKNOWN, GapReason.NOT_STORED}
    assert_every_tick(heartbeat, values, bounds(values), 200, late(status))
    assert_all_stored(status, values)


def test_any_host_name_is_a_valid_label(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    host = 'a"b\\c\nd{} %d ü'
    bridge = new_bridge(pmcd.address, store.url, host=host)
    bridge.sample(["kernel.all.load"], FAST)
    bridge.wait_for(lambda status: status["written"] > 5)
    assert bridge.end() == 0
    assert store.label_values("hostname") == [host]
    assert set(store.values()) == {
        f"kernel_all_load{{{minutes} minute}}" for minutes in (1, 5, 15)
    }


@pytest.mark.serial
def test_full_log_drops_the_oldest_points_and_reports_it(
    pmcd: Pmcd,
    store: VictoriaMetrics,
    new_bridge: NewBridge,
    heartbeat: Heartbeat,
) -> None:
    store.end(9)
    bridge = new_bridge(pmcd.address, store.url, log_max_bytes="3000")
    bridge.sample(FEW, 0.1)
    bridge.wait_for(lambda status: status["dropped"] > 10)
    kept = bridge.status()["queue"]
    assert 0 < kept["bytes"] <= 3000
    store.start()
    bridge.wait_for(lambda status: status["written"] > kept["points"])
    assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    assert_every_tick(heartbeat, values, bounds(values), 100, late(status))
    assert_all_stored(status, values)
    assert other_reasons(status) == {GapReason.LOG_FULL: status["dropped"]}


def test_bridge_without_a_plan_waits_and_reports_it(
    pmcd: Pmcd, new_bridge: NewBridge
) -> None:
    bridge = new_bridge(pmcd.address, NOWHERE)
    bridge.start()
    bridge.wait_for(lambda status: "does not answer" in status["plan"]["reason"])
    status = bridge.status()
    assert status["pcp"]["reason"] == "there is no plan: waiting for one"
    assert status["plan"]["graph"] == "http://localhost:8000/graph/plans/n1"
    assert status["plan"]["source"] == "cache"
    assert (status["expected"], status["last_tick_ms"]) == (0, None)
    assert bridge.end() == 0
    assert bridge.status()["stopped"]


def test_two_bridges_do_not_share_a_state_folder(
    pmcd: Pmcd, new_bridge: NewBridge
) -> None:
    first = new_bridge(pmcd.address, NOWHERE)
    first.start()
    second = new_bridge(pmcd.address, NOWHERE)
    second.launch_only()
    wait_until(lambda: second.ended() is not None)
    assert second.ended() == 2
    assert "another bridge uses" in second.output()
    assert first.end() == 0
