"""The values of control groups: every key of the kernel's files has its metric."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.linux.cgroups.files import parser_of, read_file
from core.linux.cgroups.groups import Cgroup, make_group, telling_mounts
from core.linux.cgroups.mounts import read_mounts
from sampler_bridge.sources.cgroup.reader import GroupReader
from sampling.sources.cgroup_metrics import PREFIX, cgroup_metrics
from tests.cgroup_folders import Folders, cgroup_folders
from tests.ingest.tree import plant

# The keys of memory.stat in Documentation/admin-guide/cgroup-v2.rst (Linux 6.18).
_MEMORY = """
anon file kernel kernel_stack pagetables sec_pagetables percpu sock vmalloc shmem
zswap zswapped file_mapped file_dirty file_writeback swapcached anon_thp file_thp
shmem_thp inactive_anon active_anon inactive_file active_file unevictable
slab_reclaimable slab_unreclaimable slab workingset_refault_anon
workingset_refault_file workingset_activate_anon workingset_activate_file
workingset_restore_anon workingset_restore_file workingset_nodereclaim pswpin
pswpout pgscan pgsteal pgscan_kswapd pgscan_direct pgscan_khugepaged
pgscan_proactive pgsteal_kswapd pgsteal_direct pgsteal_khugepaged pgsteal_proactive
pgfault pgmajfault pgrefill pgactivate pgdeactivate pglazyfree pglazyfreed
swpin_zero swpout_zero zswpin zswpout zswpwb thp_fault_alloc thp_collapse_alloc
thp_swpout thp_swpout_fallback numa_pages_migrated numa_pte_updates numa_hint_faults
numa_task_migrated numa_task_swapped pgdemote_kswapd pgdemote_direct
pgdemote_khugepaged pgdemote_proactive pgpromote_success hugetlb
"""
OF_MEMORY = _MEMORY.split()
FILES = {
    "cpu.stat": "usage_usec 1\nnice_usec 2\ncore_sched.force_idle_usec 3\n"
    "burst_usec 4\n",
    "cpu.stat.local": "throttled_usec 5\n",
    "memory.stat": "".join(f"{key} {at}\n" for at, key in enumerate(OF_MEMORY)),
    "memory.events": "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n",
    "memory.swap.events": "high 1\nmax 2\nfail 3\n",
    "io.stat": "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n8:16 dios=1\n",
    "irq.pressure": "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
    "rdma.current": "mlx5_0 hca_handle=2 hca_object=20\nmlx5_1 hca_handle=3\n",
    "hugetlb.2MB.current": "2097152\n",
    "hugetlb.1GB.events": "max 4\n",
    "pids.events": "max 9\n",
    "pids.peak": "12\n",
}
# Metrics with another name than their key.
NAMED = {
    "cpu.usage": 1000,
    "cpu.nice": 2000,
    "cpu.force_idle": 3000,
    "cpu.burst_time": 4000,
    "cpu.throttled_own": 5000,
    "memory.events.high": 2,
    "memory.limit_reached": 3,
    "memory.events.group_kills": 6,
    "memory.swap.failed": 3,
    "io.discard.bytes": 5,
    "io.discard.ops": 7,
    "irq.stalled_all": 7,
    "rdma.handles": 5,
    "rdma.objects": 20,
    "hugetlb.pages_2MB.usage": 2097152,
    "hugetlb.pages_1GB.limit_reached": 4,
    "pids.limit_reached": 9,
    "pids.peak": 12,
}
# Keys under the names that they had before, and the same under a name of version 1.
BEFORE = {
    "anon": "memory.anon",
    "file": "memory.file",
    "kernel": "memory.kernel.usage",
    "pgmajfault": "memory.faults",
}
# Limits, which the twin has; states, sums, and what is without the groups below.
NOT_METRICS = {"oom_kill_disable", "under_oom", "Total"}


def group_of(folder: Path) -> Cgroup:
    mount = str(folder.parent)
    return Cgroup(f"/{folder.name}", {"v2": str(folder)}, {mount: 1}, (2,))


def read(group: Cgroup) -> dict[str, int]:
    values = GroupReader(group, cgroup_metrics()).read().values
    return {name.removeprefix(PREFIX): value for name, value in values.items()}


def test_every_documented_value_of_version_2_is_read(tmp_path: Path) -> None:
    plant(tmp_path / "job", FILES)
    found = read(group_of(tmp_path / "job"))
    assert {name: found[name] for name in NAMED} == NAMED
    for at, key in enumerate(OF_MEMORY):
        assert found[BEFORE.get(key, f"memory.stat.{key}")] == at


def test_missing_file_or_key_gives_no_value(tmp_path: Path) -> None:
    plant(tmp_path / "job", {"memory.stat": "anon 7\nunheard_of 8\n"})
    assert read(group_of(tmp_path / "job")) == {"memory.anon": 7}


@pytest.fixture
def folders() -> Iterator[Folders]:
    with cgroup_folders("st_f") as made:
        yield made


def test_every_value_of_a_real_group_has_a_metric(folders: Folders) -> None:
    path = folders.make("job_1")
    mounts = [m for m in telling_mounts(read_mounts()) if Path(m.path + path).is_dir()]
    numbers = {m.path: Path(m.path + path).stat().st_ino for m in mounts}
    group = make_group(path, numbers, mounts)
    places = {p for one in cgroup_metrics().values() for p in one.places}
    known = {(place.file, place.key) for place in places}
    for file in {place.file for place in places}:
        for folder in group.folders.values():
            lacking = {(file, key) for key in keys(Path(folder) / file)} - known
            assert not lacking, (folder, lacking)
    assert len(read(group)) > 20


def keys(path: Path) -> set[str]:
    """The keys in a file, of a hierarchy those that include the groups below."""
    if not path.exists():
        return set()
    found = set(parser_of(path.name)(read_file(str(path)))) - NOT_METRICS
    if path.name == "memory.stat" and "total_cache" in found:
        found = {key for key in found if key.startswith("total_")}
    return found
