"""Limits on threads and files: excess affects only itself, and only for a while."""

import resource
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sampler_bridge.fleet import Fleet, SamplingSite
from sampler_bridge.sending.writer import Writer
from sampler_bridge.sources.cgroup.watch import CgroupWatch
from sampler_bridge.worker import Worker
from sampling.plan_file.graph_plan import WantedPlan
from sampling.plan_file.plan import make_plan
from tests.sampler_bridge.heartbeat import Heartbeat
from tests.sampler_bridge.servers import BridgeProcess
from tests.sampler_bridge.test_bridge import (
    FAST,
    FEW,
    assert_all_stored,
    assert_every_tick,
    bounds,
    late,
)
from tests.servers import Pmcd, VictoriaMetrics, wait_until

# A stack larger than any machine has memory for: the system refuses the thread.
_NO_ROOM = 1 << 46


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[None]]:
    """As many bridge threads can start as the list has entries."""
    threads: list[None] = [None] * 1000
    start = Worker.start

    def limited(worker: Worker) -> None:
        threading.stack_size(0 if threads else _NO_ROOM)
        try:
            start(worker)
        finally:
            threading.stack_size(0)
        threads.pop()

    monkeypatch.setattr(Worker, "start", limited)
    yield threads
    threading.stack_size(0)


def wanted(address: str) -> WantedPlan:
    rows = [
        {"samplerName": f"sample.{name}", "dbName": name, "period": period}
        for name, period in (("milliseconds", 0.05), ("seconds", 0.1))
    ]
    return WantedPlan(make_plan(rows), address)


# Threads: the host, a writer for each PMCD and for local sources, a sampler a period.
@pytest.mark.parametrize("most", range(6))
def test_host_whose_thread_cannot_start_affects_no_other(
    tmp_path: Path,
    pmcd: Pmcd,
    writer: Writer,
    allowed: list[None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    most: int,
) -> None:
    monkeypatch.setattr("sampler_bridge.fleet._TRY_AGAIN_SECONDS", 0.0)
    place = SamplingSite("n1", pmcd.address, "http://localhost:8000", tmp_path, 10**6)
    (tmp_path / "hosts").mkdir()
    fleet = Fleet(place, writer, CgroupWatch((), 0, tmp_path))
    (own,) = fleet.hosts
    fleet.take({"n1": wanted("")})
    wait_until(lambda: own.figures()["fetched"] > 5)
    before = threading.active_count()
    del allowed[most:]
    fleet.take({"n1": wanted(""), "n2": wanted(pmcd.address)})
    wait_until(lambda: "allow more (ulimit -u" in caplog.text)
    wait_until(lambda: threading.active_count() <= before)
    if not most:
        assert "no thread for host-n2" in fleet.unreached["n2"]
    allowed.extend([None] * 1000)
    fleet.restart_broken()
    wait_until(lambda: len(fleet.hosts) == 2 or fleet.restart_broken())
    assert fleet.hosts[0] is own and fleet.unreached == {}
    wait_until(lambda: fleet.hosts[1].figures()["fetched"] > 5)
    assert own.alive
    fleet.end(120.0)
    fleet.close()


@pytest.mark.serial
def test_bridge_continues_without_file_descriptors(
    pmcd: Pmcd,
    store: VictoriaMetrics,
    new_bridge: Callable[..., BridgeProcess],
    heartbeat: Heartbeat,
) -> None:
    bridge = new_bridge(pmcd.address, store.url)
    bridge.sample(FEW, FAST)
    bridge.wait_for(lambda status: status["written"] > 20)
    was = resource.prlimit(bridge.pid, resource.RLIMIT_NOFILE)
    # No lower file descriptor is free.
    resource.prlimit(bridge.pid, resource.RLIMIT_NOFILE, (3, was[1]))
    time.sleep(4)
    assert bridge.ended() is None, bridge.output()
    resource.prlimit(bridge.pid, resource.RLIMIT_NOFILE, was)
    now = time.time_ns() // 1_000_000
    bridge.wait_for(lambda status: status["last_tick_ms"] > now + 1000)
    assert bridge.end() == 0
    assert "Traceback" not in bridge.output()
    status, values = bridge.status(), store.values()
    assert_every_tick(heartbeat, values, bounds(values), 200, late(status))
    assert_all_stored(status, values)
