"""A log on a disk with bad blocks: its points wait and delay no other log."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sampler_bridge.errors import StateError
from sampler_bridge.log.batch import START
from sampler_bridge.log.log import Log
from sampling.account.bridge_status import read_bridge
from sampling.account.status_lines import read_sampled, sampled_lines
from tests.bad_disk import BadDisk, bad_disk, needs_bad_disk
from tests.sampler_bridge.explained import explained
from tests.sampler_bridge.servers import BridgeProcess
from tests.sampler_bridge.wire import rows_of
from tests.servers import Pmcd, VictoriaMetrics, wait_until

NewBridge = Callable[..., BridgeProcess]

FEW = ["kernel.all.pswitch", "sample.milliseconds"]
RECORDS, LARGE = 20, 10**9


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[BadDisk]:
    with bad_disk(tmp_path) as found:
        yield found


def unreadable(folder: Path) -> Path:
    """A log file that gives EIO: this process's memory has nothing at address 0."""
    file = folder / "log/00000000000000000001.log"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.symlink_to("/proc/self/mem")
    return file


def filled(folder: Path) -> tuple[Log, Path]:
    """A log whose records span many blocks each, and its file."""
    log = Log(folder, LARGE)
    for tick in range(RECORDS):
        log.append(tick, rows_of(f"{tick:020000}", tick))
    (file,) = folder.iterdir()
    return log, file


def test_unreadable_log_is_refused_naming_its_file(
    tmp_path: Path,
) -> None:
    file = unreadable(tmp_path)
    with pytest.raises(StateError, match=f"{file} cannot be used .Input/output error"):
        Log(tmp_path / "log", LARGE)


@needs_bad_disk
def test_bad_block_ends_no_process(disk: BadDisk) -> None:
    log, file = filled(disk.folder / "log")
    log.close()
    disk.break_from(file, file.stat().st_size // 2)
    with pytest.raises(StateError, match="Input/output error"):
        Log(disk.folder / "log", LARGE)
    disk.fix()
    assert Log(disk.folder / "log", LARGE).waiting == RECORDS


@needs_bad_disk
def test_partly_unreadable_record_waits(disk: BadDisk) -> None:
    """It is the last record, so no other unreadable record follows it."""
    log, file = filled(disk.folder / "log")
    disk.break_from(file, file.stat().st_size - 4096)
    position = START
    for _ in range(RECORDS - 1):
        batch = log.read(position, 1)
        assert log.take(batch) == (1, 0, 0, 0)
        position = batch.end
    with pytest.raises(OSError, match="Input/output error"):
        log.read(position, 1)
    assert log.waiting == 1
    disk.fix()
    (entry,) = log.read(position, LARGE).entries
    assert entry.tick_ms == RECORDS - 1
    log.close()


def test_unreadable_log_at_the_start_stops_no_other_host(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    """Even the local host's; its sampling starts once the log is repaired."""
    bridge = new_bridge(pmcd.address, store.url)
    bridge.know(n2=pmcd.address, n3=pmcd.address)
    for host in ("n1", "n2", "n3"):
        bridge.plan(FEW, 0.2, host)
    broken = {host: unreadable(bridge.of(host)) for host in ("n1", "n3")}
    bridge.start()
    bridge.wait_for(lambda status: status["written"] > 5, "n2")
    unreached = bridge.process()["unreached"]
    assert unreached.keys() == broken.keys()
    for host, file in broken.items():
        assert f"log {file} cannot be used (Input/output error)" in unreached[host]
    found = explained(bridge, FEW[0])
    assert found.verdict == "host not sampled" and unreached["n1"] in found.reason
    lines = sampled_lines(read_sampled(bridge.state, "n1"))
    assert f"n1: not sampled: {unreached['n1']}" in lines
    assert {*broken} <= {*read_sampled(bridge.state, "n1").losing}
    elsewhere = read_bridge(bridge.state, "n1").elsewhere
    assert f"the bridge here cannot reach 'n3': {unreached['n3']}" in elsewhere
    for file in broken.values():
        file.unlink()
    wait_until(lambda: bridge.process()["unreached"] == {})
    assert not bridge.process()["unusable"]
    for host in broken:
        bridge.wait_for(lambda status: status["written"] > 5, host)
    assert bridge.end() == 0
