"""Groups that a scan could not see do not count as ended."""

import json
import shutil
from pathlib import Path

import pytest

from core.linux.cgroups import roots
from core.linux.cgroups.ledger import LEDGER_FILE, Ledger, read_ledger
from core.linux.cgroups.roots import parse_roots
from sampler_bridge.sources.cgroup import watch as watching
from sampler_bridge.sources.cgroup.watch import CgroupWatch
from tests.ingest.tree import plant
from tests.limits import no_more_files

V1 = (
    "30 1 0:25 / /cpu rw - cgroup cgroup rw,cpu\n"
    "31 1 0:26 / /memory rw - cgroup cgroup rw,memory\n"
)
MANY = tuple(f"/jobs/{number}" for number in range(6))


def machine(tmp_path: Path, *paths: str) -> Path:
    """A machine with cgroup version 1 whose groups are plain folders."""
    files = {
        f"{mount}{path}/tasks": "" for mount in ("cpu", "memory") for path in paths
    }
    return plant(tmp_path / "machine", {"proc/self/mountinfo": V1, **files})


def watch(tmp_path: Path, root: Path) -> CgroupWatch:
    return CgroupWatch(parse_roots("jobs"), 10, tmp_path, root)


def scanned(made: CgroupWatch) -> list[str]:
    made._next_scan = 0.0
    return sorted(made.running())


def written(made: CgroupWatch, state: Path) -> Ledger:
    made._write()
    return read_ledger(json.loads((state / LEDGER_FILE).read_text()))


def test_missing_file_descriptors_end_no_group(tmp_path: Path) -> None:
    root = machine(tmp_path, "/jobs/1", "/jobs/2")
    made = watch(tmp_path, root)
    scanned(made)
    before = dict(made.running())
    with no_more_files():
        assert scanned(made) == ["/jobs/1", "/jobs/2"]
        assert dict(made.running()) == before
    ledger = written(made, tmp_path)
    assert not ledger.ended
    assert "Too many open files" in ledger.problems[0]
    assert "ulimit -n" in ledger.problems[0]
    assert scanned(made) == ["/jobs/1", "/jobs/2"]
    assert not written(made, tmp_path).problems


def test_group_removed_without_descriptors_is_recorded_as_ended(tmp_path: Path) -> None:
    root = machine(tmp_path, "/jobs/1", "/jobs/2", "/jobs/3")
    made = watch(tmp_path, root)
    scanned(made)
    for mount in ("cpu", "memory"):
        shutil.rmtree(root / mount / "jobs/1")
        (root / mount / "jobs/2").rename(root / mount / "old")
        (root / mount / "jobs/2").mkdir()
    with no_more_files():
        assert scanned(made) == ["/jobs/2", "/jobs/3"]
    ended = sorted(life.path for life in written(made, tmp_path).ended)
    assert ended == ["/jobs/1", "/jobs/2"], "another folder is another group"


def test_start_without_file_descriptors_ends_no_group(tmp_path: Path) -> None:
    root = machine(tmp_path, "/jobs/1")
    first = watch(tmp_path, root)
    scanned(first)
    first._describe()
    began = written(first, tmp_path).running
    again = watch(tmp_path, root)
    with no_more_files():
        assert scanned(again) == []
        again._describe()
        assert "not watched" in again.problems[0]
    assert written(again, tmp_path).running == began
    assert scanned(again) == ["/jobs/1"]
    assert written(again, tmp_path).running == began


def test_truncated_scan_ends_no_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = machine(tmp_path, *MANY)
    made = watch(tmp_path, root)
    scanned(made)
    monkeypatch.setattr(roots, "MOST_FOUND", 2)
    assert scanned(made) == [*MANY]
    for mount in ("cpu", "memory"):
        shutil.rmtree(root / mount / "jobs/5")
    assert scanned(made) == [*MANY[:5]]
    assert [life.path for life in written(made, tmp_path).ended] == [MANY[5]]


def test_groups_running_before_a_restart_stay_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "MOST", 2)
    root = machine(tmp_path, "/jobs/8", "/jobs/9")
    first = watch(tmp_path, root)
    scanned(first)
    written(first, tmp_path)
    machine(tmp_path, *MANY)
    again = watch(tmp_path, root)
    assert scanned(again) == ["/jobs/8", "/jobs/9"]
    assert not written(again, tmp_path).ended
