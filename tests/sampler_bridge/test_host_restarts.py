"""Hosts that broke, left or came back: one folder never has two workers."""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from sampler_bridge.fleet import Fleet, SamplingSite
from sampler_bridge.sampled_host import SampledHost
from sampler_bridge.sending.store import StoreConnection
from sampler_bridge.sending.writer import Writer
from sampler_bridge.sources.cgroup.watch import CgroupWatch
from sampler_bridge.transport.forward import SshForward
from sampling.account.cost import Latency
from sampling.plan_file.graph_plan import WantedPlan
from sampling.plan_file.plan import make_plan
from tests.sampler_bridge.servers import closes
from tests.servers import Pmcd, VictoriaMetrics, wait_until

METRICS = ("sample.milliseconds", "sample.seconds")
breaks = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"
)


@pytest.fixture
def fleet(
    tmp_path: Path, store: VictoriaMetrics, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Fleet]:
    """A fleet of only the local host, which has no plan."""
    monkeypatch.setattr("sampler_bridge.fleet._TRY_AGAIN_SECONDS", 0.0)
    writer = Writer(StoreConnection(store.url), Latency())
    writer.start()
    place = SamplingSite(
        "n1", "unix:///nowhere", "http://localhost:8000", tmp_path, 10**6
    )
    fleet = Fleet(place, writer, CgroupWatch((), 0, tmp_path))
    yield fleet
    fleet.end(120.0)
    writer.stop(5.0)
    fleet.close()


def hosts(address: str, metrics: int = 1) -> Mapping[str, WantedPlan]:
    """The local host, and one with the given metrics."""
    rows = [
        {"samplerName": name, "dbName": name.replace(".", "_"), "period": 0.02}
        for name in METRICS[:metrics]
    ]
    return {"n1": WantedPlan(), "n2": WantedPlan(make_plan(rows), address)}


def other(fleet: Fleet) -> SampledHost:
    (found,) = (host for host in fleet.hosts if host.name == "n2")
    return found


def written(host: SampledHost) -> int:
    return int(host.figures()["written"])


def fixed(fleet: Fleet, broken: SampledHost) -> SampledHost:
    """Wait until a new host object replaces the broken one."""

    def is_done() -> bool:
        fleet.restart_broken()
        return any(one.name == "n2" and one is not broken for one in fleet.hosts)

    wait_until(is_done)
    return other(fleet)


@breaks
def test_failed_host_leaves_no_thread_on_its_log(
    fleet: Fleet,
    pmcd: Pmcd,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    fleet.take(hosts(pmcd.address))
    broken = other(fleet)
    wait_until(lambda: written(broken) > 10)
    take_up = SampledHost._take_up

    def breaks(host: SampledHost, wanted: WantedPlan) -> None:
        if host is broken:
            raise RuntimeError("a fault")
        take_up(host, wanted)

    monkeypatch.setattr(SampledHost, "_take_up", breaks)
    fleet.take(hosts(pmcd.address, 2))
    wait_until(lambda: not broken.alive)
    again = fixed(fleet, broken)
    assert broken.has_ended
    assert fleet.unreached == {}
    wait_until(lambda: written(again) > 20)
    fleet.end(120.0)
    assert closes(again.figures())
    assert "cannot be written" not in caplog.text


@breaks
def test_broken_transport_is_noticed(
    fleet: Fleet, pmcd: Pmcd, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in = SshForward._log_in
    faults = ["a fault"]

    def breaks_once(way: SshForward) -> None:
        if faults:
            raise RuntimeError(faults.pop())
        log_in(way)

    monkeypatch.setattr(SshForward, "_log_in", breaks_once)
    fleet.take(hosts("ssh://no-such-host.invalid"))
    broken = other(fleet)
    wait_until(lambda: not broken.alive)
    again = fixed(fleet, broken)
    wait_until(lambda: "cannot be resolved" in str(again.summary()["reason"]))
    assert again.alive


def test_host_returns_while_its_points_are_in_flight(
    fleet: Fleet, pmcd: Pmcd, store: VictoriaMetrics
) -> None:
    fleet.take(hosts(pmcd.address))
    first = other(fleet)
    wait_until(lambda: written(first) > 10)
    account = first.outbox.account
    os.kill(store.pid, signal.SIGSTOP)
    try:
        wait_until(lambda: first.figures()["queue"]["points"] > 10)
        fleet.take({"n1": WantedPlan()})
        wait_until(lambda: first.has_ended)
        fleet.take(hosts(pmcd.address))
        again = other(fleet)
        wait_until(lambda: again.figures()["fetched"] > 10)
    finally:
        os.kill(store.pid, signal.SIGCONT)
    wait_until(lambda: written(again) > 20)
    fleet.end(120.0)
    wait_until(lambda: not again.figures()["queue"]["points"])
    assert closes(again.figures())
    ticks = store.values('{hostname="n2"}')["sample_milliseconds"]
    assert len(ticks) == account.figures()["written"] + written(again)


def test_late_reading_after_the_end_starts_no_host(
    fleet: Fleet, pmcd: Pmcd, tmp_path: Path
) -> None:
    fleet.end(1.0)
    fleet.take(hosts(pmcd.address))
    assert [host.name for host in fleet.hosts] == ["n1"]
    assert not (tmp_path / "hosts/n2").exists()


@pytest.mark.serial
def test_points_to_resend_are_kept_while_the_store_is_unreachable(
    fleet: Fleet,
    pmcd: Pmcd,
    store: VictoriaMetrics,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A store killed before it saved what it acknowledged returns after that time."""
    within = 2.0
    monkeypatch.setattr("sampler_bridge.sending.writer._CHECK_SECONDS", 0.2)
    monkeypatch.setattr("sampler_bridge.sampled_host._READ_AGAIN_WITHIN", within)
    fleet.take(hosts(pmcd.address))
    host = other(fleet)
    wait_until(lambda: written(host) > 10)
    fleet.take({"n1": WantedPlan()})
    wait_until(lambda: host.has_ended and not host.outbox.has_more)
    store.end(9)
    until = time.monotonic() + 2 * within
    while time.monotonic() < until:
        fleet.restart_broken()
        time.sleep(0.2)
    folder = tmp_path / "hosts/n2"
    assert folder.exists()
    store.start()

    def is_gone() -> bool:
        fleet.restart_broken()
        return not folder.exists()

    wait_until(is_gone)
    ticks = store.values('{hostname="n2"}')["sample_milliseconds"]
    assert len(ticks) == written(host)
