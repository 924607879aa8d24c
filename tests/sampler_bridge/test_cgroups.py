"""Noticing and sampling control groups: real ones, and folders that imitate them."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.linux.cgroups.ledger import LEDGER_FILE, Ledger, read_ledger
from core.linux.cgroups.roots import parse_roots
from sampler_bridge.sources.cgroup import watch as watching
from sampler_bridge.sources.cgroup.source import CgroupSource
from sampler_bridge.sources.cgroup.watch import CgroupWatch
from sampling.account.reasons import GapReason
from sampling.sources.cgroup_metrics import PREFIX, cgroup_metrics
from tests.cgroup_folders import Folders, cgroup_folders
from tests.ingest.tree import plant
from tests.sampler_bridge.servers import BridgeProcess, closes
from tests.servers import VictoriaMetrics, wait_until

MOUNTS = "30 1 0:25 / /cg rw - cgroup2 cgroup2 rw\n"
ALL = [name for name, one in cgroup_metrics().items() if one.places]


@pytest.fixture
def folders() -> Iterator[Folders]:
    # Not named like a scheduler's groups: the stacks of other tests watch for those.
    with cgroup_folders("st_b") as made:
        yield made


def watch(
    tmp_path: Path, roots: str, keep: int = 10, root: Path = Path("/")
) -> CgroupWatch:
    return CgroupWatch(parse_roots(roots), keep, tmp_path, root)


def ledger(state: Path) -> Ledger:
    return read_ledger(json.loads((state / LEDGER_FILE).read_text()))


def pretended(tmp_path: Path, *paths: str) -> Path:
    """A machine with cgroup version 2 whose groups are plain folders."""
    files = {f"cg/{path}/cpu.stat": "usage_usec 5\n" for path in paths}
    return plant(tmp_path / "machine", {"proc/self/mountinfo": MOUNTS, **files})


def scanned(made: CgroupWatch) -> list[str]:
    """The groups that a scan finds, however recent the last scan was."""
    made._next_scan = 0.0
    return sorted(made.running())


def values(source: CgroupSource) -> dict[tuple[str, str], int]:
    return {
        (series.metric.removeprefix(PREFIX), str(series.instance)): int(value)
        for column in source.fetch().columns
        for series, value in zip(column.series, column.values, strict=True)
    }


def test_real_group_is_sampled_from_its_start_to_its_end(
    folders: Folders, tmp_path: Path
) -> None:
    made = watch(tmp_path, f"{folders.top}/uid_*/job_*")
    source = CgroupSource(made)
    source.select([*ALL, PREFIX + "unheard.of"])
    assert values(source) == {}
    job = folders.make("uid_1000/job_7")
    assert scanned(made) == [job]
    folders.put("uid_1000/job_7", "sh", "-c", "while :; do :; done")
    wait_until(lambda: values(source)["cpu.usage", job] > 1_000_000)
    first, second = values(source), values(source)
    assert second["cpu.usage", job] >= first["cpu.usage", job]
    if "pids" in folders.mounts:
        assert second["pids.current", job] == 1
    sample = source.fetch()
    assert [*sample.missing] == [PREFIX + "unheard.of"]
    assert sample.columns[0].series is source.fetch().columns[0].series
    folders.processes[0].kill()
    folders.processes[0].wait()
    folders.remove("uid_1000/job_7")
    assert values(source) == {}, (
        "a group that went has no value, not even before a scan"
    )
    assert scanned(made) == []


def test_too_large_number_is_a_gap_of_its_group_only(
    tmp_path: Path,
) -> None:
    """A kernel whose counter fell below 0 gives such numbers."""
    root = pretended(tmp_path, "jobs/1", "jobs/2")
    for job, bytes_ in ((1, 2**63), (2, 2**63 - 1)):
        plant(root, {f"cg/jobs/{job}/memory.current": f"{bytes_}\n"})
    source = CgroupSource(watch(tmp_path, "jobs/*", root=root))
    source.select(ALL)
    found = values(source)
    assert found["cpu.usage", "/jobs/1"] == found["cpu.usage", "/jobs/2"] == 5000
    assert found["memory.usage", "/jobs/2"] == 2**63 - 1
    assert len(found) == 3
    ((metric, gap),) = source.fetch().missing.items()
    assert metric == PREFIX + "memory.usage"
    cause = GapReason.NOT_STORED, "numbers of 2^63 and more are not stored", False
    assert gap == (cause, 1)


def test_ledger_has_running_and_recently_ended_groups(
    folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_SCAN_SECONDS", 0.05)
    made = watch(tmp_path, folders.top, keep=2)
    made.start()
    wait_until((tmp_path / LEDGER_FILE).exists)
    for name in ("a", "b", "c"):
        path = folders.make(name)
        wait_until(lambda path=path: path in ledger(tmp_path).running)
        wait_until(lambda path=path: ledger(tmp_path).running[path].metrics)
        folders.remove(name)
        wait_until(lambda: not ledger(tmp_path).running)
    ended = ledger(tmp_path).ended
    assert [life.path.rpartition("/")[2] for life in ended] == ["b", "c"]
    assert all(life.began <= (life.ended or 0) for life in ended)
    made.stop(5)


def test_reused_path_is_another_group(tmp_path: Path) -> None:
    root = pretended(tmp_path, "jobs/1")
    made = watch(tmp_path, "jobs", root=root)
    assert scanned(made) == ["/jobs/1"]
    old = root / "cg/jobs/1"
    old.rename(root / "cg/gone")  # its inode number stays in use
    plant(root, {"cg/jobs/1/cpu.stat": "usage_usec 1\n"})
    time.sleep(0.002)
    scanned(made)
    made._write()
    found = ledger(tmp_path)
    assert [life.path for life in (*found.ended, *found.running.values())] == [
        "/jobs/1"
    ] * 2
    assert found.ended[0].ended == found.running["/jobs/1"].began


def test_restarted_bridge_continues_running_groups(
    tmp_path: Path,
) -> None:
    root = pretended(tmp_path, "jobs/1", "jobs/2")
    plant(root, {"proc/sys/kernel/random/boot_id": "one\n"})
    first = watch(tmp_path, "jobs", root=root)
    scanned(first)
    first._write()
    began = ledger(tmp_path).running["/jobs/1"].began
    shutil.rmtree(root / "cg/jobs/2")
    again = watch(tmp_path, "jobs", root=root)
    scanned(again)
    again._write()
    assert ledger(tmp_path).running["/jobs/1"].began == began
    assert [life.path for life in ledger(tmp_path).ended] == ["/jobs/2"]
    plant(root, {"proc/sys/kernel/random/boot_id": "two\n"})
    rebooted = watch(tmp_path, "jobs", root=root)
    scanned(rebooted)
    rebooted._write()
    assert [life.path for life in ledger(tmp_path).ended] == ["/jobs/2", "/jobs/1"]


def test_damaged_ledger_is_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / LEDGER_FILE).write_text('{"format": "supertwin-cgroups/1", "boot": 3}')
    made = watch(tmp_path, "jobs", root=pretended(tmp_path, "jobs/1"))
    assert scanned(made) == ["/jobs/1"]
    assert [r.message for r in caplog.records if "starting a new list" in r.message]


def test_unwatched_groups_are_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "MOST", 3)
    root = pretended(tmp_path, *(f"jobs/{number}" for number in range(5)))
    plant(root, {"cg/jobs/two\nlines/cpu.stat": ""})
    made = watch(tmp_path, "jobs,absent", root=root)
    first = scanned(made)
    plant(root, {"cg/jobs/0000/cpu.stat": ""})
    assert scanned(made) == first, "those that are watched stay"
    messages = sorted(record.message for record in caplog.records)
    assert len(messages) == 3, messages
    assert messages[0] == r"cgroup folder '/jobs/two\nlines' is not printable UTF-8"
    assert messages[1].startswith("cgroup root 'absent' is not below")
    assert messages[2] == "more than 3 cgroups match: the others are not watched"


def test_vanishing_and_unreadable_groups_are_gaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = pretended(tmp_path, "jobs/1", "jobs/2")
    made = watch(tmp_path, "jobs", root=root)
    source = CgroupSource(made)
    source.select([PREFIX + "cpu.usage", PREFIX + "memory.usage"])
    assert values(source) == {
        ("cpu.usage", "/jobs/1"): 5000,
        ("cpu.usage", "/jobs/2"): 5000,
    }
    shutil.rmtree(root / "cg/jobs/2")
    made._next_scan = time.monotonic() + 60
    assert values(source) == {("cpu.usage", "/jobs/1"): 5000}

    def refuse(path: str) -> str:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("sampler_bridge.sources.cgroup.reader.read_file", refuse)
    gap = source.fetch().missing[PREFIX + "cpu.usage"]
    assert gap.cause.reason == GapReason.DENIED
    assert gap.points == 2


def test_ticks_cause_no_scans_while_no_group_runs(
    folders: Folders, tmp_path: Path
) -> None:
    """A group that comes is noticed all the same."""
    made = watch(tmp_path, f"{folders.top}/job_*")
    made.start()
    wait_until(lambda: made._is_idle)
    scans = set()
    for _ in range(100):
        made.running()
        scans.add(made._next_idle_scan)
        time.sleep(0.005)
    assert len(scans) <= 2  # the thread scans again once it watches the folders
    job = folders.make("job_1")
    wait_until(lambda: job in made.running(), 2)
    made.stop(10)
    assert not made.alive


def test_short_group_has_exactly_its_ticks(
    folders: Folders,
    store: VictoriaMetrics,
    new_bridge: Callable[..., BridgeProcess],
) -> None:
    bridge = new_bridge(
        "unix:///nowhere", store.url, cgroup_roots=f"{folders.top}/job_*"
    )
    bridge.plan([PREFIX + "cpu.usage"], 1.0)
    bridge.start()
    name = "supertwin_cgroup_cpu_usage"
    began = time.time()
    folders.make("job_7")
    process: subprocess.Popen[bytes] = folders.put("job_7", "sleep", "60")
    wait_until(lambda: len(store.peek(name)) >= 3)
    process.kill()
    process.wait()
    folders.remove("job_7")
    ended = time.time()
    wait_until(lambda: ledger(bridge.state).ended)
    bridge.wait_for(lambda status: status["last_tick_ms"] > (ended + 1) * 1000)
    (series,) = store.values(name).items()
    assert series[0] == f"{name}{{/{folders.top}/job_7}}"
    ticks = sorted(series[1])
    # A tick carries the time at which it was due; a busy machine reaches it later.
    assert began * 1000 - 500 <= ticks[0]
    assert ticks[-1] <= ended * 1000 + 500
    status = bridge.status()
    assert closes(status)
    # A busy machine may cost ticks, which are counted; nothing else is missing.
    skipped = {*range(ticks[0], ticks[-1], 1000)} - {*ticks}
    assert len(skipped) <= sum(status["reasons"].values())
    assert not status["reasons"][GapReason.ABSENT]
