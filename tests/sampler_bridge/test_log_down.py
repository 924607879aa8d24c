"""A log on disk that cannot be read or written: `status` and `why` say so."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from queries.diagnosis import Finding
from sampling.account.bridge_status import read_bridge
from sampling.account.status_lines import read_sampled, sampled_lines
from tests.disk import fill, small_disk
from tests.sampler_bridge.explained import explained
from tests.sampler_bridge.servers import BridgeProcess
from tests.servers import Pmcd, VictoriaMetrics, wait_until

NewBridge = Callable[..., BridgeProcess]

FEW = ["kernel.all.pswitch", "sample.milliseconds"]


@contextmanager
def held(bridge: BridgeProcess) -> Iterator[None]:
    """Stop the bridge process for the duration of the block."""
    os.kill(bridge.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(bridge.pid, signal.SIGCONT)


def lost_points(bridge: BridgeProcess, host: str) -> list[str]:
    """The lines of `supertwin status` about points of a host that do not arrive."""
    lines = sampled_lines(read_sampled(bridge.state, bridge.options["host"]))
    assert lines
    return [line for line in lines if f"points of {host} do not reach" in line]


def newest(folder: Path) -> Path:
    """The log file that is being written."""
    return max((folder / "log").glob("*.log"))


def test_unreadable_points_of_one_host_are_reported_as_waiting(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge, tmp_path: Path
) -> None:
    """A folder in place of a full log file simulates a disk with bad blocks."""
    bridge = new_bridge(pmcd.address, store.url, log_max_bytes="200000")
    bridge.know(n2=pmcd.address)
    bridge.plan(FEW, 0.02, "n2")
    bridge.sample(FEW, 0.2)
    bridge.wait_for(lambda status: status["written"] > 5, "n2")
    store.end()
    file = newest(bridge.of("n2"))
    bridge.wait_for(lambda status: newest(bridge.of("n2")) != file, "n2")
    aside = file.rename(tmp_path / "aside")
    file.mkdir()
    store.start()
    bridge.wait_for(lambda status: status["queue"]["reason"], "n2")
    reason = (
        "points of n2 do not reach the store: "
        f"the log {file} cannot be read (Is a directory): fix its disk; "
        "what is in it waits"
    )
    assert explained(bridge, FEW[0], "n2") == Finding("log down", reason)
    assert lost_points(bridge, "n2") == [f"  {reason}"]
    # If a busy machine cost n1 a tick, that counts for ten seconds.
    wait_until(lambda: read_sampled(bridge.state, "n1").losing == ("n2",))
    wait_until(lambda: reason in read_bridge(bridge.state, "n1").elsewhere)
    assert explained(bridge, FEW[0]).verdict != "log down" and not lost_points(
        bridge, "n1"
    )
    with held(bridge):
        file.rmdir()
        aside.rename(file)
    fixed = bridge.status("n2")
    waiting = fixed["written"] + fixed["queue"]["points"]
    bridge.wait_for(lambda status: status["written"] > waiting, "n2")
    bridge.wait_for(lambda status: status["queue"]["reason"] is None, "n2")
    assert explained(bridge, FEW[0], "n2").verdict != "log down"
    assert not lost_points(bridge, "n2")
    assert bridge.end() == 0


def test_points_refused_by_a_full_disk_are_reported_as_lost(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", 2048) as folder:
        bridge = new_bridge(pmcd.address, store.url, state=str(folder))
        bridge.state = folder
        bridge.sample(FEW, 0.1)
        bridge.wait_for(lambda status: status["written"] > 10)
        store.end()  # acknowledged points free space
        filler = fill(folder)
        bridge.wait_for(lambda status: status["reasons"]["log not written"] > 20)
        found = explained(bridge, FEW[0])
        reason = found.reason
        assert found.verdict == "log down"
        full = f"the log {newest(bridge.own)} cannot be written (No space left on"
        assert reason.startswith(f"points of n1 do not reach the store: {full}")
        assert "make room on its disk" in reason
        assert lost_points(bridge, "n1") == [f"  {reason}"]
        assert read_sampled(bridge.state, "n1").losing == ("n1",)
        losing = read_bridge(bridge.state, "n1").losing_reason
        assert losing.startswith("points of n1 are lost: ")
        assert "log not written" in losing
        filler.unlink()
        bridge.wait_for(lambda status: status["queue"]["reason"] is None)
        assert not lost_points(bridge, "n1")
        bridge.wait_for(lambda status: "log" not in str(status["losing"]["reasons"]))
        assert bridge.end() == 0
