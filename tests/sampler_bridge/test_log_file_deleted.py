"""A running bridge loses its log file: the store has each point that it counts."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sampling.plan_file.notify import notify
from tests.disk import fill, small_disk
from tests.sampler_bridge.servers import BridgeProcess, closes
from tests.servers import Pmcd, VictoriaMetrics

NewBridge = Callable[..., BridgeProcess]

FEW = ["kernel.all.pswitch", "sample.milliseconds"]


def newest(bridge: BridgeProcess) -> Path:
    return max((bridge.own / "log").glob("*.log"))


def delete(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    os.truncate(file, 0)


def cut(file: Path) -> None:
    """Cut the file as `truncate -s -500` does."""
    os.truncate(file, file.stat().st_size - 500)


def replace(file: Path) -> None:
    copy = file.with_name("copy")
    copy.write_bytes(file.read_bytes())
    copy.replace(file)


def delete_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def assert_all_stored(bridge: BridgeProcess, store: VictoriaMetrics) -> int:
    """Assert that nothing waits and the store has what is counted; return the count."""
    status = bridge.status()
    assert closes(status) and status["queue"]["points"] == 0
    assert store.count() == status["written"]
    return int(status["written"])


@pytest.mark.parametrize("harm", [delete, empty, cut, replace, delete_folder])
@pytest.mark.parametrize(
    "is_unreachable", [False, True], ids=["reachable", "unreachable"]
)
def test_damaged_log_file_loses_no_point(
    pmcd: Pmcd,
    store: VictoriaMetrics,
    new_bridge: NewBridge,
    harm: Callable[[Path], None],
    is_unreachable: bool,
) -> None:
    bridge = new_bridge(pmcd.address, store.url)
    bridge.sample(FEW, 0.02)
    bridge.wait_for(lambda status: status["written"] > 200)
    if is_unreachable:
        store.end()
        bridge.wait_for(lambda status: status["queue"]["points"] > 100)
    harm(newest(bridge))
    bridge.wait_for(lambda status: status["damaged"]["replaced"] == 1)
    if is_unreachable:
        store.start()
    after = bridge.status()["expected"]
    bridge.wait_for(lambda status: status["written"] > after + 100)
    assert bridge.end() == 0
    assert "log damaged" not in str(bridge.status()["missing"])
    assert assert_all_stored(bridge, store) > after
    assert "by another process" in bridge.output()


def test_killed_bridge_sends_the_continuation_of_a_deleted_log(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    bridge = new_bridge(pmcd.address, store.url)
    bridge.sample(FEW, 0.02)
    bridge.wait_for(lambda status: status["written"] > 100)
    store.end()
    bridge.wait_for(lambda status: status["queue"]["points"] > 100)
    newest(bridge).unlink()
    bridge.wait_for(lambda status: status["damaged"]["replaced"] == 1)
    written = bridge.status()["written"]
    bridge.end(9)
    store.start()
    bridge.start()
    bridge.wait_for(lambda status: status["written"] > status["carried"])
    assert bridge.end() == 0
    status = bridge.status()
    assert closes(status) and status["reasons"]["log damaged"] == 0
    assert status["carried"] > 100
    assert store.count() == written + status["written"]


def test_deleted_log_on_a_full_disk_is_continued(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", 2048) as folder:
        bridge = new_bridge(pmcd.address, store.url, state=str(folder))
        bridge.state = folder
        bridge.sample(FEW, 0.02)
        bridge.wait_for(lambda status: status["written"] > 100)
        store.end()
        fill(folder)
        bridge.wait_for(lambda status: status["reasons"]["log not written"] > 20)
        newest(bridge).unlink()
        bridge.wait_for(lambda status: status["damaged"]["replaced"] == 1)
        assert bridge.status()["reasons"]["log damaged"] == 0
        store.start()
        bridge.wait_for(lambda status: status["queue"]["reason"] is None)
        after = bridge.status()["fetched"]
        bridge.wait_for(lambda status: status["written"] > after)
        assert bridge.end() == 0
        assert_all_stored(bridge, store)


def test_deleted_pipe_is_made_again(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    bridge = new_bridge(pmcd.address, store.url)
    bridge.sample(FEW, 0.2)
    (bridge.state / "notify").unlink()
    bridge.wait_for(lambda _: notify(bridge.state))
    assert bridge.end() == 0
