"""Failures outside the bridge: the gap is as long as the outage, and has its reason."""

import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core.linux import pmapi
from core.settings.settings import Settings
from sampling.account.reasons import GapReason
from sampling.plan_file.monitor import load_monitor, plan_names
from tests.cable import Cable
from tests.disk import fill, small_disk
from tests.sampler_bridge.explained import explained
from tests.sampler_bridge.heartbeat import Heartbeat
from tests.sampler_bridge.servers import NOWHERE, BridgeProcess, closes
from tests.sampler_bridge.test_bridge import (
    FAST,
    FEW,
    assert_all_stored,
    assert_every_tick,
    bounds,
    late,
    other_reasons,
)
from tests.servers import Pmcd, VictoriaMetrics, wait_until

pytestmark = pytest.mark.serial

NewBridge = Callable[..., BridgeProcess]
MIB = 1 << 20
_LEAST_FREE = "-storage.minFreeDiskSpaceBytes"


@pytest.mark.parametrize("left", [4 * MIB, 0], ids=["little room", "no room"])
def test_full_store_gets_every_tick_once_it_has_space(
    pmcd: Pmcd,
    tmp_path: Path,
    new_bridge: NewBridge,
    left: int,
    heartbeat: Heartbeat,
) -> None:
    """With little space it refuses writes; with none it exits and is restarted."""
    with small_disk(tmp_path / "disk", 48 << 10) as disk:
        options = f"-storageDataPath={disk / 'data'}", f"{_LEAST_FREE}={8 * MIB}"
        with VictoriaMetrics(tmp_path / "store", *options) as store:
            bridge = new_bridge(pmcd.address, store.url)
            bridge.sample(FEW, FAST)
            bridge.wait_for(lambda status: status["written"] > 20)
            filler = fill(disk, left)
            bridge.wait_for(lambda status: not status["store"]["up"])
            assert bridge.status()["store"]["reason"]
            assert explained(bridge, FEW[0]).verdict == "store down"
            bridge.wait_for(lambda status: status["queue"]["points"] > 20)
            assert closes(bridge.status())
            if not left:
                wait_until(lambda: store.ended() is not None)
            filler.unlink()
            if not left:
                store.start()
                bridge.wait_for(lambda status: status["resent"] > 0)
            bridge.wait_for(lambda status: status["store"]["up"])
            assert bridge.end() == 0
            status, values = bridge.status(), store.values()
    assert other_reasons(status) == {}
    assert_every_tick(heartbeat, values, bounds(values), 200, late(status))
    assert_all_stored(status, values)


def test_log_holds_twenty_times_ten_minutes_of_the_monitor_set(
    pmcd: Pmcd, new_bridge: NewBridge
) -> None:
    """Extrapolated from the log size of a tick while the store is unreachable."""
    bridge = new_bridge(pmcd.address, NOWHERE)
    bridge.sample(plan_names(load_monitor(), pmcd.names()), FAST)
    bridge.wait_for(lambda status: status["queue"]["points"] > 2000)
    first = bridge.status()
    bridge.wait_for(lambda s: s["last_tick_ms"] > first["last_tick_ms"] + 2000)
    last = bridge.status()
    assert bridge.end() == 0
    ticks = (last["last_tick_ms"] - first["last_tick_ms"]) / 200
    a_tick = (last["queue"]["bytes"] - first["queue"]["bytes"]) / ticks
    assert a_tick > 100
    assert 600 * a_tick * 20 < Settings.fields["log_max_bytes"].default


def test_killed_agent_leaves_gap_only_in_its_metrics(
    own_pmcd: Pmcd,
    store: VictoriaMetrics,
    new_bridge: NewBridge,
    heartbeat: Heartbeat,
) -> None:
    bridge = new_bridge(own_pmcd.address, store.url)
    bridge.sample(FEW, FAST)
    bridge.wait_for(lambda status: status["written"] > 20)
    killed = time.time_ns() // 1_000_000
    own_pmcd.kill_agents("sample")
    name = "sample_milliseconds"
    wait_until(lambda: max(store.peek(name), default=0) > killed + 200)
    assert "changed its agents" in bridge.output()
    written = bridge.status()["written"]
    bridge.wait_for(lambda status: status["written"] > written + 20)
    # PMCD does not start an agent twice within a minute.
    again = time.time_ns() // 1_000_000
    own_pmcd.kill_agents("sample")
    bridge.wait_for(lambda status: "sample.milliseconds" in status["metrics"])
    found = explained(bridge, "sample.milliseconds")
    assert bridge.end() == 0
    assert found.verdict == "agent down", found
    status, values = bridge.status(), store.values()
    assert set(other_reasons(status)) == {GapReason.AGENT}
    hurt = {name: values.pop(name)}
    assert_every_tick(heartbeat, values, bounds(values), 200, late(status))
    first, back = bounds(values)[0], min(ms for ms in hurt[name] if ms > killed + 200)
    for since, until in ((first, killed), (back, again)):
        stretch = since, until // 200 * 200 - 200
        assert_every_tick(heartbeat, hurt, stretch, 200, late(status))
    assert_all_stored(status, hurt | values)


def test_missing_permission_for_processes_is_reported_and_the_rest_is_read(
    own_pmcd: Pmcd,
    store: VictoriaMetrics,
    new_bridge: NewBridge,
    heartbeat: Heartbeat,
) -> None:
    """Over TCP, PMCD does not learn the user of its client."""
    bridge = new_bridge(own_pmcd.tcp, store.url)
    bridge.sample(["proc.psinfo.rss", *FEW], FAST)
    bridge.wait_for(lambda status: status["written"] > 50)
    # Nothing is wrong with the other metrics; whether some points wait varies.
    assert explained(bridge, FEW[0]).verdict in ("bridge behind", "not yet sampled")
    assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    assert explained(bridge, "proc.psinfo.rss").verdict == "no permission"
    assert set(other_reasons(status)) == {GapReason.DENIED}
    (said,) = status["metrics"].items()
    detail = pmapi.error_text(pmapi.PmStatus.PERMISSION)
    assert said == ("proc.psinfo.rss", {"reason": "no permission", "detail": detail})
    ticks = {ms for points in values.values() for ms in points}
    assert sum(other_reasons(status).values()) in (len(ticks), len(ticks) + 1)
    assert_every_tick(heartbeat, values, bounds(values), 200, late(status))
    assert_all_stored(status, values)


# From less than a period to more than two.
LIVES = ("0.02", "0.02", "0.05", "0.1", "0.25")


def test_changing_processes_keep_the_account_closed(
    pmcd: Pmcd,
    store: VictoriaMetrics,
    new_bridge: NewBridge,
    tmp_path: Path,
    heartbeat: Heartbeat,
) -> None:
    """Some end between a fetch and the request for their names."""
    brief = shutil.copy("/bin/sleep", tmp_path / "brief-one")
    bridge = new_bridge(pmcd.address, store.url)
    bridge.sample(["proc.psinfo.rss", "proc.psinfo.sname", *FEW], 0.1)
    bridge.wait_for(lambda status: status["written"] > 50)

    def are_seen() -> bool:
        for process in [subprocess.Popen([brief, seconds]) for seconds in LIVES]:
            process.wait()
        names = store.label_values("instname")
        # Processes have the name of their command, or before exec that of this one.
        return len([name for name in names if "brief-one" in name]) > 5

    wait_until(are_seen, what="some that lived long enough")
    assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    assert set(other_reasons(status)) <= {GapReason.NAMELESS}
    assert_all_stored(status, values)
    for name in values:
        if name.startswith("proc"):
            assert re.search(r"\{\d{6,} .+\}$", name), name
    others = {n: points for n, points in values.items() if not n.startswith("proc")}
    assert_every_tick(heartbeat, others, bounds(others), 100, late(status))


def test_unreachable_host_is_a_gap_of_its_downtime(
    own_pmcd: Pmcd,
    store: VictoriaMetrics,
    new_bridge: NewBridge,
    heartbeat: Heartbeat,
) -> None:
    """As when a cable is pulled: nothing refuses, nothing answers."""
    with Cable(own_pmcd.port) as cable:
        bridge = new_bridge(cable.address, store.url)
        bridge.plan(FEW, FAST)
        bridge.start(PMCD_REQUEST_TIMEOUT="1", PMCD_CONNECT_TIMEOUT="1")
        bridge.wait_for(lambda status: status["written"] > 20)
        cut = time.time_ns() // 1_000_000
        cable.silence()
        bridge.wait_for(lambda status: not status["pcp"]["connected"])
        assert explained(bridge, FEW[0]).verdict == "PMCD down"
        time.sleep(0.3)
        cable.fix()
        back = time.time_ns() // 1_000_000
        written = bridge.status()["written"]
        bridge.wait_for(lambda status: status["written"] > written + 50)
        assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    assert set(other_reasons(status)) == {GapReason.DOWN}
    first, last = bounds(values)
    assert_every_tick(
        heartbeat, values, (first, cut // 200 * 200 - 200), 200, late(status)
    )
    there = {ms for points in values.values() for ms in points}
    answered = min(ms for ms in there if ms >= back)
    assert_every_tick(heartbeat, values, (answered, last), 200, late(status))
    assert_all_stored(status, values)
    due = ((last - first) // 200 + 1) * len(values)
    beyond = sum(status["reasons"].values()) - (due - status["written"])
    assert 0 <= beyond <= late(status)
