"""Control groups that change during a scan or a reading."""

import shutil
from pathlib import Path

import pytest

from core.linux.cgroups.groups import Cgroup
from core.linux.cgroups.ledger import CgroupLife
from core.linux.cgroups.roots import parse_roots
from sampler_bridge.sources.cgroup import watch as watching
from sampler_bridge.sources.cgroup.reader import available_metrics
from sampler_bridge.sources.cgroup.source import CgroupSource
from sampler_bridge.sources.cgroup.watch import CgroupWatch
from sampling.sources.cgroup_exits import exit_metrics_of_groups
from sampling.sources.cgroup_metrics import PREFIX
from tests.ingest.tree import plant

V1 = (
    "30 1 0:25 / /cpuacct rw - cgroup cgroup rw,cpuacct\n"
    "31 1 0:26 / /memory rw - cgroup cgroup rw,memory\n"
)


def from_files(life: CgroupLife) -> set[str]:
    """The metrics of a group that are read from its files."""
    return {*life.metrics} - exit_metrics_of_groups()


def test_folder_created_while_its_group_is_read_stays_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group of version 1 gets its folders one after the other."""
    cpu = {"proc/self/mountinfo": V1, "cpuacct/jobs/1/cpuacct.usage": "5\n"}
    root = plant(tmp_path / "machine", cpu)
    made = CgroupWatch(parse_roots("jobs"), 10, tmp_path, root)

    def scanned_meanwhile(group: Cgroup) -> tuple[str, ...]:
        metrics = available_metrics(group)
        plant(root, {"memory/jobs/1/memory.usage_in_bytes": "7\n"})
        made._next_scan = 0.0
        made.running()
        return metrics

    made.running()
    with monkeypatch.context() as patched:
        patched.setattr(watching, "available_metrics", scanned_meanwhile)
        made._describe()
    numbers = {
        str(root / mount): (root / mount / "jobs/1").stat().st_ino
        for mount in ("cpuacct", "memory")
    }
    life = made._ledger.running["/jobs/1"]
    assert life.numbers == numbers
    assert from_files(life) == {"supertwin.cgroup.cpu.usage"}
    # The metrics known by now keep the group alive when its first folder goes first.
    (root / "cpuacct/jobs/1/cpuacct.usage").unlink()
    (root / "cpuacct/jobs/1").rmdir()
    made._next_scan = 0.0
    made.running()
    assert made._ledger.running["/jobs/1"].began == life.began
    assert not made._ledger.ended
    made._describe()
    life = made._ledger.running["/jobs/1"]
    assert from_files(life) == {"supertwin.cgroup.memory.usage"}


@pytest.mark.parametrize("gone", ["cpuacct.usage", ""])
def test_counter_is_read_from_one_hierarchy_only(tmp_path: Path, gone: str) -> None:
    """When folders are removed: version 2 counts in whole microseconds."""
    mounts = V1 + "32 1 0:27 / /cg rw - cgroup2 cgroup2 rw\n"
    files = {
        "proc/self/mountinfo": mounts,
        "cpuacct/jobs/1/cpuacct.usage": "5198\n",
        "cg/jobs/1/cpu.stat": "usage_usec 5\n",
    }
    root = plant(tmp_path / "machine", files)
    made = CgroupWatch(parse_roots("jobs"), 10, tmp_path, root)
    source = CgroupSource(made)
    source.select([PREFIX + "cpu.usage"])
    (column,) = source.fetch().columns
    assert column.values.tolist() == [5198]
    if gone:
        (root / "cpuacct/jobs/1" / gone).unlink()
    else:
        shutil.rmtree(root / "cpuacct/jobs/1")
    made._next_scan = 0.0
    assert source.fetch().columns == ()
