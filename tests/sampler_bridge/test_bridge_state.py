"""The bridge and its state folder: damaged files, a disk that is full."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sampler_bridge.plan.plan import load_plan
from sampler_bridge.sending.cursor import Cursor, load_cursor
from tests.disk import fill, small_disk
from tests.sampler_bridge.servers import BridgeProcess, closes
from tests.servers import Pmcd, VictoriaMetrics, wait_until

NewBridge = Callable[..., BridgeProcess]

FEW = ["kernel.all.pswitch", "sample.milliseconds"]


# What else is no cursor and no plan is in test_cursor.py and test_plan.py.
def test_a_damaged_cursor_is_named_once_and_written_anew(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    bridge = new_bridge(pmcd.address, store.url)
    bridge.plan(FEW, 0.2)
    bridge.own.mkdir(parents=True, exist_ok=True)
    (bridge.own / "cursor.json").write_text("[" * 100_000)
    bridge.start()
    bridge.wait_for(lambda status: status["written"] > 5)
    assert bridge.end() == 0
    assert bridge.output().count("is no cursor") == 1
    assert "Traceback" not in bridge.output()
    assert load_cursor(bridge.own / "cursor.json").taken > Cursor().taken
    assert closes(bridge.status())


def test_a_damaged_plan_is_named_once_and_waited_for(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    bridge = new_bridge(pmcd.address, store.url)
    bridge.own.mkdir(parents=True)
    (bridge.own / "plan.json").write_text("[" * 100_000)
    bridge.start()
    bridge.wait_for(lambda status: "does not answer" in status["plan"]["reason"])
    assert bridge.end() == 0
    assert bridge.output().count("is no plan") == 1
    assert "Traceback" not in bridge.output()
    assert load_plan(bridge.own / "plan.json") is None


@pytest.mark.serial
def test_a_full_disk_costs_points_and_nothing_else(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", 2048) as folder:
        bridge = new_bridge(pmcd.address, store.url, state=str(folder))
        bridge.state = folder
        bridge.sample(FEW, 0.1)
        bridge.wait_for(lambda status: status["written"] > 10)
        store.end()  # what it acknowledges makes room
        filler = fill(folder)
        bridge.wait_for(lambda status: _lost(status) > 20)
        status = folder / "status.json"
        for _ in range(3):
            written_ns = status.stat().st_mtime_ns
            wait_until(lambda last=written_ns: status.stat().st_mtime_ns > last)
        filler.unlink()
        store.start()
        time.sleep(1.5)  # until the status tells of now
        lost, written = _lost(bridge.status()), bridge.status()["written"]
        bridge.wait_for(lambda status: status["written"] > written + 20)
        assert _lost(bridge.status()) < lost + 20
        assert bridge.end() == 0
        assert closes(bridge.status())
        assert "Traceback" not in bridge.output()


def _lost(status: dict[str, dict[str, int]]) -> int:
    found = [n for why, n in status["missing"].items() if "cannot be written" in why]
    return sum(found)
