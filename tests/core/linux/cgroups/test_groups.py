"""Data of control groups: their files, their limits, and the jobs in their names."""

from pathlib import Path

import pytest

from core.linux.cgroups.files import parser_of
from core.linux.cgroups.groups import (
    Cgroup,
    CgroupLimits,
    make_group,
    parent_of,
    parse_cpus,
    read_allowed,
    telling_mounts,
)
from core.linux.cgroups.ledger import CgroupLife
from core.linux.cgroups.mounts import parse_mounts
from core.linux.cgroups.schedulers import SchedulerJob, parse_job
from tests.ingest.tree import plant

MOUNTS = """\
30 1 0:25 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct
31 1 0:26 / /cg/memory rw - cgroup cgroup rw,memory
32 1 0:27 / /cg/cpuset rw - cgroup cgroup rw,cpuset
33 1 0:28 / /cg/systemd rw - cgroup cgroup rw,name=systemd
34 1 0:29 / /cg/unified rw - cgroup2 cgroup2 rw
"""
READS = {"Read": 3, "Write": 4}
WRITES = {"rbytes": 11, "wios": 2}
PRESSURE = "some avg10=0.00 avg60=0.00 total=12\nfull avg10=0.00 total=3\n"
STEP = "/system.slice/slurmstepd.scope/job_9/step_batch/user/task_0"
V1 = {
    "cg/cpu/job_7/cpu.cfs_quota_us": "150000\n",
    "cg/cpu/job_7/cpu.cfs_period_us": "100000\n",
    "cg/memory/job_7/memory.limit_in_bytes": "268435456\n",
    "cg/cpuset/job_7/cpuset.cpus": "0-2,5\n",
}
V2 = {
    "cg/unified/job_7/cgroup.controllers": "cpuset cpu memory pids\n",
    "cg/unified/job_7/cpuset.cpus.effective": "3\n",
    "cg/unified/job_7/cpu.max": "max 100000\n",
    "cg/unified/job_7/memory.max": "max\n",
    "cg/unified/job_7/pids.max": "64\n",
}


def group(root: Path, files: dict[str, str]) -> Cgroup:
    plant(root, files)
    mounts = telling_mounts(parse_mounts(MOUNTS), root)
    here = {m.path: 1 for m in mounts if Path(m.path, "job_7").is_dir()}
    return make_group("/job_7", here, mounts)


def test_limits_of_a_version_1_group_are_read(tmp_path: Path) -> None:
    found = group(tmp_path, V1)
    assert found.versions == (1,)
    controllers = ("cpu", "cpuacct", "cpuset", "memory")
    assert read_allowed(found) == CgroupLimits(
        controllers, (0, 1, 2, 5), 268435456, 1.5
    )


def test_limits_of_a_version_2_group_are_read(tmp_path: Path) -> None:
    found = group(tmp_path, V2)
    assert found.versions == (2,)
    controllers = ("cpu", "cpuset", "memory", "pids")
    assert read_allowed(found) == CgroupLimits(controllers, (3,), tasks=64)


def test_same_path_in_both_versions_is_one_group(tmp_path: Path) -> None:
    found = group(tmp_path, {**V1, **V2})
    assert found.versions == (1, 2)
    # Version 1 decides for controllers that both versions list: it has them.
    assert read_allowed(found).cpus == (0, 1, 2, 5)
    assert read_allowed(found).tasks == 64


def test_group_without_limits_has_none(tmp_path: Path) -> None:
    free = {
        "cg/memory/job_7/memory.limit_in_bytes": "9223372036854771712\n",
        "cg/cpuset/job_7/cpuset.cpus": "\n",
        "cg/cpu/job_7/cpu.cfs_quota_us": "-1\n",
    }
    controllers = ("cpu", "cpuacct", "cpuset", "memory")
    assert read_allowed(group(tmp_path, free)) == CgroupLimits(controllers)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0", (0,)),
        ("2-4,9\n", (2, 3, 4, 9)),
        ("", None),
        ("a-b", None),
        ("0-99999", None),
    ],
)
def test_cpu_lists_are_parsed(text: str, cpus: tuple[int, ...] | None) -> None:
    assert parse_cpus(text) == cpus


@pytest.mark.parametrize(
    ("name", "text", "figures"),
    [
        ("memory.current", "4096\n", {"": 4096}),
        ("memory.max", "max\n", {}),
        ("cpu.stat", "usage_usec 5\nbroken\nnr 2\n", {"usage_usec": 5, "nr": 2}),
        ("memory.oom_control", "oom_kill 3\n", {"oom_kill": 3}),
        (
            "io.stat",
            "8:0 rbytes=1 wios=2\n8:16 rbytes=10 x\n",
            {"rbytes": 11, "wios": 2},
        ),
        ("blkio.x", "8:0 Read 1\n8:1 Read 2\n8:0 Write 4\nTotal 7\n", READS),
        ("cpu.pressure", PRESSURE, {"some": 12, "full": 3}),
        ("pids.current", "", {}),
    ],
)
def test_files_of_a_group_are_found(
    name: str, text: str, figures: dict[str, int]
) -> None:
    assert parser_of(name)(text) == figures


@pytest.mark.parametrize(
    ("path", "job"),
    [
        ("/slurm/uid_1000/job_123", SchedulerJob("123", None, 1000)),
        ("/slurm/uid_1000/job_123/step_0", SchedulerJob("123", "0", 1000)),
        (
            "/slurm_n1/uid_0/job_1/step_4294967291/task_0",
            SchedulerJob("1", "4294967291", 0),
        ),
        ("/system.slice/slurmstepd.scope/job_9", SchedulerJob("9")),
        (
            "/system.slice/slurmstepd.scope/job_9/step_batch/user/task_0",
            SchedulerJob("9", "batch"),
        ),
        ("/oar/alice_12", SchedulerJob("12", user="alice")),
        ("/oar/a_b_12", SchedulerJob("12", user="a_b")),
        ("/slurm/uid_1000", SchedulerJob()),
        ("/slurm/uid_x/job_y", SchedulerJob()),
        ("/docker/job_12x", SchedulerJob()),
    ],
)
def test_jobs_are_read_from_group_names(path: str, job: SchedulerJob) -> None:
    assert parse_job(path) == job


def test_parent_is_the_nearest_known_group() -> None:
    known = dict.fromkeys(("/a", "/a/b/c", "/ab"))
    assert parent_of("/a/b/c/d", known) == "/a/b/c"
    assert parent_of("/a/b", known) == "/a"
    assert parent_of("/ab", known) is None


@pytest.mark.parametrize(
    ("numbers", "same"),
    [
        ({"/cpu": 1}, True),
        ({"/cpu": 1, "/pids": 2}, True),
        ({"/pids": 2}, True),  # its folders come and go one after another
        ({"/cpu": 3}, False),
        ({"/cpu": 3, "/pids": 2}, False),
    ],
)
def test_group_with_other_folder_numbers_is_another_group(
    numbers: dict[str, int], same: bool
) -> None:
    life = CgroupLife("/jobs/1", 0, (1,), {"/cpu": 1})
    assert life.is_of(Cgroup("/jobs/1", {}, numbers, (1,))) == same
