"""The bridge and its state folder: damaged files, a full disk."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sampler_bridge.sending.cursor import Cursor, load_cursor
from sampler_bridge.state_lock import LOCK_FILE, StateLock
from sampling.plan_file.plan import load_plan
from tests.disk import fill, small_disk
from tests.sampler_bridge.servers import NOWHERE, BridgeProcess, closes
from tests.servers import Pmcd, VictoriaMetrics, wait_until

NewBridge = Callable[..., BridgeProcess]

FEW = ["kernel.all.pswitch", "sample.milliseconds"]


# Other invalid cursors and plans are tested in test_cursor.py and test_plan.py.
def test_damaged_cursor_is_reported_once_and_rewritten(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    bridge = new_bridge(pmcd.address, store.url)
    bridge.plan(FEW, 0.2)
    bridge.own.mkdir(parents=True, exist_ok=True)
    (bridge.own / "cursor.json").write_text("[" * 100_000)
    bridge.start()
    bridge.wait_for(lambda status: status["written"] > 5)
    assert bridge.end() == 0
    assert bridge.output().count("is not a cursor") == 1
    assert "Traceback" not in bridge.output()
    assert load_cursor(bridge.own / "cursor.json").taken > Cursor().taken
    assert closes(bridge.status())


def test_damaged_plan_is_reported_once_and_waited_for(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    bridge = new_bridge(pmcd.address, store.url)
    bridge.own.mkdir(parents=True)
    (bridge.own / "plan.json").write_text("[" * 100_000)
    bridge.start()
    bridge.wait_for(lambda status: "does not answer" in status["plan"]["reason"])
    assert bridge.end() == 0
    assert bridge.output().count("is not a plan") == 1
    assert "Traceback" not in bridge.output()
    assert load_plan(bridge.own / "plan.json") is None


@pytest.mark.serial
def test_full_disk_loses_only_points(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", 2048) as folder:
        bridge = new_bridge(pmcd.address, store.url, state=str(folder))
        bridge.state = folder
        bridge.sample(FEW, 0.1)
        bridge.wait_for(lambda status: status["written"] > 10)
        store.end()  # acknowledged points free space
        filler = fill(folder)
        bridge.wait_for(lambda status: _lost(status) > 20)
        status = folder / "status.json"
        for _ in range(3):
            written_ns = status.stat().st_mtime_ns
            wait_until(lambda last=written_ns: status.stat().st_mtime_ns > last)
        written = bridge.status()["written"]
        filler.unlink()
        store.start()
        bridge.wait_for(lambda status: status["written"] > written + 20)
        # The bridge writes to the log again: from now on every point goes there.
        first = bridge.status()
        bridge.wait_for(lambda status: status["written"] > first["written"] + 20)
        assert _lost(bridge.status()) == _lost(first)
        assert bridge.end() == 0
        assert closes(bridge.status())
        assert "Traceback" not in bridge.output()


def _lost(status: dict[str, dict[str, int]]) -> int:
    return status["reasons"]["log not written"]


def test_lock_file_that_is_deleted_is_locked_again(
    pmcd: Pmcd, new_bridge: NewBridge
) -> None:
    first, second = (new_bridge(pmcd.address, NOWHERE) for _ in range(2))
    first.start()
    (first.state / LOCK_FILE).unlink()
    wait_until(lambda: "was deleted or replaced: it is locked again" in first.output())
    second.folder = first.folder / "second"
    second.folder.mkdir()
    second.launch_only()
    wait_until(lambda: second.ended() is not None)
    assert second.ended() == 2
    assert "another bridge uses state folder" in second.output()
    assert first.ended() is None
    assert first.output().count("locked again") == 1


def test_bridge_ends_if_another_took_its_folder(
    pmcd: Pmcd, new_bridge: NewBridge
) -> None:
    bridge = new_bridge(pmcd.address, NOWHERE)
    bridge.start()
    other = bridge.state / "other"
    taken = StateLock(other)
    (other / LOCK_FILE).replace(bridge.state / LOCK_FILE)
    wait_until(lambda: bridge.ended() is not None)
    assert bridge.ended() == 2
    last = bridge.output().splitlines()[-1]
    expected = f"sampler_bridge: another bridge uses state folder {bridge.state}"
    assert last.startswith(expected)
    taken.release()
