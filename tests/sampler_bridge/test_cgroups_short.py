"""Control groups that are noticed by a kernel notification, not by a periodic look."""

import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from core.linux.cgroups.ledger import LEDGER_FILE, Ledger, read_ledger
from core.linux.cgroups.roots import parse_roots
from sampler_bridge.sources.cgroup import watch as watching
from sampler_bridge.sources.cgroup.inotify import FolderWatch
from sampler_bridge.sources.cgroup.watch import CgroupWatch
from tests.cgroup_folders import Folders, cgroup_folders
from tests.servers import wait_until


@pytest.fixture
def folders() -> Iterator[Folders]:
    with cgroup_folders("st_short") as made:
        yield made


@pytest.fixture
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make periodic looks so rare that only kernel notifications arrive in time."""
    monkeypatch.setattr(watching, "_SCAN_SECONDS", 600.0)


def ledger(state: Path) -> Ledger:
    return read_ledger(json.loads((state / LEDGER_FILE).read_text()))


def runs(state: Path, path: str) -> bool:
    return path in ledger(state).running


def has_ended(state: Path, path: str) -> bool:
    return path in {life.path for life in ledger(state).ended}


@pytest.fixture
def watch(folders: Folders, tmp_path: Path, seldom: None) -> Iterator[CgroupWatch]:
    roots = f"{folders.top}/uid_*/job_*, {folders.top}/all"
    watch = CgroupWatch(parse_roots(roots), 1000, tmp_path)
    watch.start()
    wait_until((tmp_path / LEDGER_FILE).exists)
    yield watch
    watch.stop(120)
    assert not watch.alive


@pytest.fixture
def state(watch: CgroupWatch, tmp_path: Path) -> Path:
    return tmp_path


def test_job_is_noticed_at_its_start(folders: Folders, state: Path) -> None:
    """Also when the folder above the job is as new as the job."""
    for user in (1, 1, 2):
        job = folders.make(f"uid_{user}/job_{time.time_ns()}")
        wait_until(partial(runs, state, job))
        folders.remove(f"uid_{user}")
        wait_until(partial(has_ended, state, job))


def test_groups_at_any_depth_are_noticed(folders: Folders, state: Path) -> None:
    deep = folders.make("all/a/b/c")
    wait_until(partial(runs, state, deep))
    deeper = folders.make("all/a/b/c/d")
    wait_until(partial(runs, state, deeper))
    folders.remove("all")
    wait_until(partial(has_ended, state, deep))
    wait_until(partial(has_ended, state, deeper))


def test_group_ends_with_its_last_process_and_not_with_its_folder(
    folders: Folders, watch: CgroupWatch, state: Path
) -> None:
    """According to `cgroup.events`; a group may get processes again."""
    if "v2" not in folders.mounts:
        pytest.skip("no cgroup of version 2 can be made here")
    job, path = folders.make("all/job_1", "v2"), "all/job_1"
    wait_until(partial(runs, state, job))
    for _ in range(2):
        process = folders.put(path, "sleep", "1000")
        wait_until(
            lambda: job in watch._activity._used and job not in watch._activity._empty
        )
        process.kill()
        process.wait()
        wait_until(lambda: job in watch._activity._empty)
    empty, before = watch._activity._empty[job], time.time_ns() // 1_000_000
    assert empty <= before
    wait_until(lambda: time.time_ns() // 1_000_000 > before + 20)
    folders.remove("all")
    wait_until(partial(has_ended, state, job))
    (life,) = (one for one in ledger(state).ended if one.path == job)
    assert life.ended == empty


def test_written_files_are_reported_once(tmp_path: Path) -> None:
    watch, file = FolderWatch(), tmp_path / "file"
    file.touch()
    assert not watch.watch([], [str(file)])
    assert watch.take_written() == {str(file)}
    file.write_text("x")
    assert not watch.wait(10)
    assert watch.take_written() == {str(file)}
    assert watch.take_written() == set()
    watch.watch([])
    file.write_text("y")
    while watch.wait(0.1):  # until the watch has ended
        pass
    assert watch.take_written() == set()
    watch.close()


def test_immediate_scan_needs_saved_time(
    folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = CgroupWatch(parse_roots(f"{folders.top}/all"), 10, tmp_path)
    for budget, noticed in ((-1.0, False), (1.0, True)):
        monkeypatch.setattr(watching, "_MOST_BUDGET_SECONDS", budget)
        watch._budget = budget
        job = folders.make("all/job_1")
        watch._scan_within_budget()
        assert (job in watch._groups) is noticed


def test_changes_of_folders_are_reported(tmp_path: Path) -> None:
    watch = FolderWatch()
    assert watch.watch([str(tmp_path), str(tmp_path / "none")])
    assert not watch.watch([str(tmp_path)])
    (tmp_path / "a file").touch()
    assert not watch.wait(0.05)
    inner = tmp_path / "inner"
    inner.mkdir()
    assert watch.wait(120)
    assert watch.watch([str(tmp_path), str(inner)])
    inner.rmdir()
    assert watch.wait(120)
    inner.mkdir()
    assert watch.watch([str(tmp_path), str(inner)])
    watch.watch([str(inner)])
    (tmp_path / "unwatched").mkdir()
    while watch.wait(0.1):
        pass
    (inner / "more").mkdir()
    assert watch.wait(120)
    watch.close()


def test_wait_can_be_ended() -> None:
    watch = FolderWatch()
    watch.wake()
    began = time.monotonic()
    assert not watch.wait(120)
    assert time.monotonic() - began < 30
    watch.close()


def test_missing_inotify_instances_are_reported(tmp_path: Path) -> None:
    """All inotify instances that one account may have are taken."""
    taken = list[FolderWatch]()
    while not taken or taken[-1].problem is None:
        taken.append(FolderWatch())
    try:
        watch = FolderWatch()
        assert watch.problem and "fs.inotify.max_user_instances" in watch.problem
        assert not watch.watch([str(tmp_path)])
        watch.wake()
        assert not watch.wait(120)
        watch.close()
    finally:
        for one in taken:
            one.close()
