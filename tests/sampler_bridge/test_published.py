"""What the bridge publishes about itself: the account closes, whatever is killed."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sampling.account.absence import DIED, STOPPED
from sampling.account.reasons import WORDS, GapReason
from sampling.sources.own_metrics import OWN_METRICS
from tests.sampler_bridge.servers import NOWHERE, BridgeProcess, closes
from tests.servers import Pmcd, VictoriaMetrics

NewBridge = Callable[..., BridgeProcess]
Values = Mapping[str, Mapping[int, float]]

OWN = [metric.name for metric in OWN_METRICS]
PLANNED = ["kernel.all.pswitch", "kernel.percpu.cpu.user", "sample.milliseconds", *OWN]
PERIOD = 0.2
NAME = "supertwin_bridge_"


def balance(values: Values) -> dict[int, float]:
    """Expected minus written, missing and waiting, at every tick that has them all."""
    expected = values[f"{NAME}points_expected"]
    others = [
        values[f"{NAME}points_written"],
        values[f"{NAME}queue_points"],
        *(values[f"{NAME}points_missing{{{word}}}"] for word in WORDS),
    ]
    ticks = set(expected).intersection(*others)
    return {ms: expected[ms] - sum(one[ms] for one in others) for ms in ticks}


def watch(bridge: BridgeProcess, until: Callable[[dict[str, Any]], Any]) -> None:
    """Wait until the status meets a condition; the account closes all the while."""

    def check(status: dict[str, Any]) -> Any:
        assert closes(status), status
        return until(status)

    bridge.wait_for(check)


def test_account_closes_exactly_after_kills_of_store_and_pmcd(
    own_pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    bridge = new_bridge(own_pmcd.address, store.url)
    bridge.sample(PLANNED, PERIOD)
    watch(bridge, lambda status: status["written"] > 500)
    store.end(9)
    watch(bridge, lambda status: status["queue"]["points"] > 200)
    own_pmcd.end(9)
    watch(bridge, lambda status: status["reasons"][GapReason.DOWN] > 10)
    store.start()
    watch(bridge, lambda status: status["resent"] and status["store"]["up"])
    own_pmcd.start()
    watch(bridge, lambda status: status["pcp"]["connected"])
    written = bridge.status()["written"]
    watch(bridge, lambda status: status["written"] > written + 200)
    assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    assert closes(status)
    assert status["queue"]["points"] == 0
    assert status["written"] == sum(len(points) for points in values.values())
    missing = {why: sum(of.values()) for why, of in status["missing"].items()}
    assert missing == {why: n for why, n in status["reasons"].items() if n}
    balances = balance(values)
    assert len(balances) > 20
    assert set(balances.values()) == {0}
    waited = values[f"{NAME}queue_points"].values()
    assert max(waited) > 200
    assert values[f"{NAME}points_missing{{{GapReason.DOWN}}}"][max(balances)] > 10


def test_series_of_the_bridge_contain_its_cost(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    began = time.monotonic()
    bridge = new_bridge(pmcd.address, store.url)
    bridge.sample(PLANNED, PERIOD)
    bridge.wait_for(lambda status: status["written"] > 500)
    assert bridge.end() == 0
    took = time.monotonic() - began
    values, status = store.values(), bridge.status()
    last = {name: points[max(points)] for name, points in values.items()}
    assert {name.split("{")[0] for name in last} >= {
        metric.replace(".", "_") for metric in OWN
    }
    for kind in ("fetch", "write"):
        times = [last[f"{NAME}{kind}_seconds{{{q}}}"] for q in ("p50", "p99", "max")]
        assert 0 < times[0] <= times[1] <= times[2] < took
    assert 20 << 20 < last[f"{NAME}rss"] < 300 << 20
    assert 0 < last[f"{NAME}cpu"] / 1000 <= status["cpu_seconds"] < 60
    assert 0 < last[f"{NAME}sent_bytes"] <= status["sent_bytes"]
    assert last[f"{NAME}points_fetched"] <= status["fetched"]
    assert last[f"{NAME}uncounted"] == 0


@pytest.mark.serial
def test_downtime_of_the_bridge_is_reported(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    bridge = new_bridge(pmcd.address, store.url)
    bridge.sample(PLANNED, PERIOD)
    bridge.wait_for(lambda status: status["written"] > 1000)
    before = bridge.status()
    assert before["uncounted"] is None
    alive = time.time()
    # The state for the next process is saved after each status.
    bridge.wait_for(lambda status: status["last_tick_ms"] > alive * 1000 + 1000)
    seen = bridge.status()["last_tick_ms"]
    bridge.wait_for(lambda status: status["last_tick_ms"] > seen)
    bridge.end(9)
    time.sleep(2)
    bridge.start()
    bridge.wait_for(lambda status: status["written"] > status["carried"] + 500)
    absence = bridge.status()["uncounted"]
    assert bridge.end() == 0
    assert absence["reason"] == DIED
    assert 2 <= absence["seconds"] <= time.time() - alive
    values = store.values()
    due = absence["seconds"] / PERIOD * len(values)
    # An estimate: a bridge whose first ticks were late expects fewer points a second.
    assert 0.1 * due < absence["points"] < 1.3 * due
    assert (
        values[f"{NAME}uncounted"][max(values[f"{NAME}uncounted"])]
        == (absence["seconds"])
    )
    assert set(balance(values).values()) == {0}
    assert closes(bridge.status())


def test_stop_is_distinguished_from_a_crash(pmcd: Pmcd, new_bridge: NewBridge) -> None:
    bridge = new_bridge(pmcd.address, NOWHERE)
    bridge.sample(PLANNED, PERIOD)
    bridge.wait_for(lambda status: status["expected"] > 100)
    alive = time.time()
    assert bridge.end() == 0
    bridge.start()
    absence, seconds = bridge.status()["uncounted"], time.time() - alive
    assert bridge.end() == 0
    assert absence["reason"] == STOPPED
    assert 0 <= absence["seconds"] <= seconds


def test_unknown_own_metric_is_a_gap(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    bridge = new_bridge(pmcd.address, store.url)
    bridge.sample(["supertwin.bridge.no.such", "supertwin.bridge.rss"], PERIOD)
    bridge.wait_for(lambda status: status["written"] > 5)
    assert bridge.end() == 0
    status = bridge.status()
    assert set(status["missing"]) <= {GapReason.UNKNOWN, GapReason.LATE}
    assert status["metrics"] == {
        "supertwin.bridge.no.such": {
            "reason": "unknown metric",
            "detail": "Unknown metric name",
        }
    }
    assert set(store.values()) == {f"{NAME}rss"}
