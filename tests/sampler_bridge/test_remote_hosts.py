"""Hosts over ssh in addition to the local one: failures affect only their own host."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from sampler_bridge.transport.sockets import sockets_folder
from sampling.account.bridge_status import read_bridge
from sampling.account.reasons import GapReason
from tests.sampler_bridge.heartbeat import Heartbeat
from tests.sampler_bridge.servers import BridgeProcess, closes
from tests.servers import Pmcd, VictoriaMetrics, wait_until
from tests.sshd import Sshd

pytestmark = [
    pytest.mark.serial,
    pytest.mark.skipif(
        os.geteuid() != 0, reason="a network namespace of its own needs root"
    ),
]

NewBridge = Callable[..., BridgeProcess]
PERIOD_MS = 200
METRICS = ["kernel.all.pswitch", "sample.milliseconds"]
BUSY = (GapReason.LATE, GapReason.SLOW)


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pmcd]:
    """The PMCD of the remote host."""
    with Pmcd(tmp_path_factory.mktemp("there"), sample=True) as server:
        yield server


@pytest.fixture(scope="module")
def sshd(there: Pmcd) -> Iterator[Sshd]:
    """A host that has that PMCD's socket at the usual path."""
    with Sshd(over={"/run/pcp": str(there.folder / "run")}) as server:
        yield server


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[Pmcd]:
    """The PMCD of a host that will hang."""
    with Pmcd(tmp_path / "stopped", sample=True) as server:
        yield server


@pytest.fixture
def bridge(
    pmcd: Pmcd, store: VictoriaMetrics, sshd: Sshd, new_bridge: NewBridge
) -> BridgeProcess:
    """A bridge of two hosts, not yet started: near (local) and far."""
    bridge = new_bridge(
        pmcd.address, store.url, host="near", ssh_config=str(sshd.config)
    )
    bridge.know(far=sshd.url())
    for host in ("near", "far"):
        bridge.plan(METRICS, PERIOD_MS / 1000, host)
    return bridge


def of(store: VictoriaMetrics, host: str) -> Mapping[str, Mapping[int, float]]:
    return store.values(f'{{hostname="{host}"}}')


def assert_every_tick(
    bridge: BridgeProcess, store: VictoriaMetrics, heartbeat: Heartbeat, host: str
) -> None:
    """Assert that a host has all ticks up to its last, except those that load cost."""
    status, values = bridge.status(host), of(store, host)
    print(
        host, status["missing"], status["tick_offset_seconds"], status["fetch_seconds"]
    )
    assert len(values) == len(METRICS)
    for points in values.values():
        bounds = (min(points), status["last_tick_ms"])
        heartbeat.assert_every_tick(points, PERIOD_MS, bounds)


def assert_lost_nothing(
    bridge: BridgeProcess, store: VictoriaMetrics, heartbeat: Heartbeat
) -> None:
    """Assert that near has every tick and that both accounts match the store."""
    assert set(bridge.status("near")["missing"]) <= set(BUSY)
    assert_every_tick(bridge, store, heartbeat, "near")
    for host in ("near", "far"):
        status = bridge.status(host)
        assert closes(status)
        assert status["written"] == sum(map(len, of(store, host).values()))


def wait_for_points(bridge: BridgeProcess, host: str, more: int = 10) -> None:
    """Wait until the given number of further points of a host is written."""
    written = bridge.status(host)["written"]
    bridge.wait_for(lambda status: status["written"] > written + more, host)


def longest_gap(values: Mapping[str, Mapping[int, float]]) -> int:
    """The longest time in ms for which a host gave no values."""
    ticks = sorted({ms for points in values.values() for ms in points})
    return max(after - before for before, after in pairwise(ticks))


def test_remote_host_is_sampled_together_with_the_local_one(
    bridge: BridgeProcess, store: VictoriaMetrics, sshd: Sshd, heartbeat: Heartbeat
) -> None:
    bridge.start()
    bridge.wait_for(lambda status: status["written"] > 50, "far")
    status, process = bridge.status("far"), bridge.process()
    assert status["pcp"] == {
        "address": sshd.url(),
        "connected": True,
        "reason": None,
    }
    assert set(process["hosts"]) == {"near", "far"}
    assert process["unreached"] == {}
    offsets = status["tick_offset_seconds"]
    assert offsets.keys() == {"last", "p50", "p95", "max"}
    assert 0 <= offsets["p50"] <= offsets["p95"] <= offsets["max"]
    assert offsets["p50"] < PERIOD_MS / 1000
    clock = status["clock_seconds"]
    # The clock is this machine's own.
    assert abs(clock["ahead"]) <= clock["uncertainty"] + 0.001
    assert 0 <= process["tick_spread_seconds"] < PERIOD_MS / 1000
    assert len(sshd.sessions()) <= 2
    folders = list(Path("/tmp").glob("st-*/1p"))
    assert any(path.parent.stat().st_mode & 0o777 == 0o700 for path in folders)
    assert bridge.end() == 0
    assert_lost_nothing(bridge, store, heartbeat)
    assert_every_tick(bridge, store, heartbeat, "far")
    wait_until(lambda: not sshd.sessions())
    bridge.start()
    bridge.wait_for(lambda status: status["pcp"]["connected"], "far")
    bridge.end(signal.SIGKILL)
    wait_until(lambda: not sshd.sessions(), what="the end of a login without a bridge")
    shutil.rmtree(sockets_folder(bridge.state))


def outage(bridge: BridgeProcess, message: str, end: Callable[[], None]) -> None:
    """Wait until far is reported, end the outage, and wait for values."""
    bridge.wait_for(lambda s: message in str(s["pcp"]["reason"]), "far")
    away = bridge.status("far")
    assert "does not answer" in away["pcp"]["reason"]
    assert set(away["metrics"]) == set(METRICS)
    wait_until(
        lambda: any(
            line.startswith("points of far are lost: ") and "source down" in line
            for line in read_bridge(bridge.state, "near").elsewhere
        ),
        what="a word of what is lost of another host",
    )
    end()
    ended = time.time()
    bridge.wait_for(lambda s: (s["last_tick_ms"] or 0) > ended * 1000, "far")
    wait_for_points(bridge, "far")


def test_killed_login_sshd_and_pmcd_are_recovered(
    bridge: BridgeProcess,
    store: VictoriaMetrics,
    sshd: Sshd,
    there: Pmcd,
    heartbeat: Heartbeat,
) -> None:
    bridge.start()
    bridge.wait_for(lambda status: status["written"] > 20, "far")
    logins = sshd.sessions()
    for pid in logins:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: sshd.sessions() and not set(logins) & set(sshd.sessions()))
    wait_for_points(bridge, "far")
    sshd.end_listening()
    outage(bridge, "refuses connections", sshd.listen_again)
    there.end(9)
    outage(bridge, "forwards no sockets: start pmcd, or", there.start)
    assert bridge.end() == 0
    assert_lost_nothing(bridge, store, heartbeat)


def test_network_failure_and_hanging_host_are_recovered(
    bridge: BridgeProcess,
    store: VictoriaMetrics,
    sshd: Sshd,
    stopped: Pmcd,
    heartbeat: Heartbeat,
) -> None:
    bridge.know(far=sshd.url(), hung=stopped.address)
    bridge.plan(METRICS, PERIOD_MS / 1000, "hung")
    bridge.start()
    for host in ("far", "hung"):
        bridge.wait_for(lambda status: status["written"] > 20, host)
    sshd.set_network("down")
    os.kill(stopped.pid, signal.SIGSTOP)
    try:
        outage(bridge, "does not answer", lambda: sshd.set_network("up"))
    finally:
        os.kill(stopped.pid, signal.SIGCONT)
    wait_for_points(bridge, "hung")
    assert bridge.end() == 0
    assert_lost_nothing(bridge, store, heartbeat)
    assert longest_gap(of(store, "hung")) > 2000
    assert closes(bridge.status("hung"))


def test_rejected_login_is_reported_and_delays_no_other_host(
    pmcd: Pmcd,
    store: VictoriaMetrics,
    sshd: Sshd,
    new_bridge: NewBridge,
    heartbeat: Heartbeat,
) -> None:
    bridge = new_bridge(
        pmcd.address, store.url, host="near", ssh_config=str(sshd.config)
    )
    reasons = {
        "locked": (sshd.url("nobody9"), "refuses our keys"),
        "shut": (f"{sshd.url()}:9", "refuses connections"),
        "nowhere": ("ssh://no-such-host.invalid", "cannot be resolved"),
        "changed": (f"{sshd.url()}:2222", "is not the one in known_hosts"),
    }
    known, text = sshd.known_hosts, sshd.known_hosts.read_text()
    other = (sshd.folder / "user_key.pub").read_text()
    lines = [line for line in text.splitlines() if ":2222" not in line]
    known.write_text("\n".join([*lines, f"[{sshd.address}]:2222 {other}"]))
    bridge.know(**{name: address for name, (address, _) in reasons.items()})
    for host in ("near", *reasons):
        bridge.plan(METRICS, PERIOD_MS / 1000, host)
    try:
        bridge.start()
        for host, (address, words) in reasons.items():
            bridge.wait_for(lambda s, w=words: w in str(s["pcp"]["reason"]), host)
            bridge.wait_for(lambda status: status["reasons"]["source down"], host)
            found = bridge.status(host)["pcp"]["reason"]
            assert found.startswith(f"PMCD of {address} does not answer: ")
            assert "\n" not in found
        wait_for_points(bridge, "near", 20)
        assert bridge.end() == 0
    finally:
        known.write_text(text)
    assert set(bridge.status("near")["missing"]) <= set(BUSY)
    assert_every_tick(bridge, store, heartbeat, "near")
    assert store.label_values("hostname") == ["near"]
    assert all(closes(bridge.status(host)) for host in reasons)
