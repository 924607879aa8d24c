"""The layout of control groups, from mounts of all three layouts."""

import os
from pathlib import Path

import pytest

from core.linux.cgroups.mounts import parse_mounts
from ingest.errors import SourceMissingError
from ingest.sources.cgroups import read_cgroups
from tests.ingest.tree import copied, plant

V2 = "29 23 0:26 / {} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "3{} 31 0:3{} / /sys/fs/cgroup/{} rw shared:9 - cgroup cgroup {}\n"
OTHER = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\nbroken line\n"
ROOT = "sys/fs/cgroup"


def test_version_2_with_a_delegated_group_is_read(tmp_path: Path) -> None:
    files = {
        "proc/self/mountinfo": OTHER + V2.format("/sys/fs/cgroup"),
        f"{ROOT}/cgroup.controllers": "cpuset cpu io memory pids\n",
        f"{ROOT}/cgroup.subtree_control": "memory pids\n",
        f"{ROOT}/user.slice/user-1000.slice/session/cgroup.procs": "1\n",
        f"{ROOT}/system.slice/cgroup.procs": "1\n",
    }
    plant(tmp_path, files)
    mine = tmp_path / ROOT / "user.slice/user-1000.slice"
    try:
        os.setxattr(mine, "user.delegate", b"1")
    except OSError:  # a file system without attributes: then the owner decides
        os.chown(mine, 1000, 1000)
    found = read_cgroups(copied(tmp_path))
    assert found == {
        "layout": "v2",
        "hierarchies": [
            {
                "path": "/sys/fs/cgroup",
                "version": 2,
                "name": None,
                "controllers": ["cpu", "cpuset", "io", "memory", "pids"],
                "enabled": ["memory", "pids"],
                "delegated": ["/user.slice/user-1000.slice"],
            }
        ],
    }


def test_version_1_and_hybrid_are_read(tmp_path: Path) -> None:
    v1 = V1.format(2, 2, "cpu,cpuacct", "rw,cpu,cpuacct")
    v1 += V1.format(3, 3, "systemd", "rw,xattr,name=systemd")
    plant(tmp_path, {"proc/self/mountinfo": v1})
    found = read_cgroups(copied(tmp_path))
    assert found["layout"] == "v1"
    assert [(h["controllers"], h["name"]) for h in found["hierarchies"]] == [
        (["cpu", "cpuacct"], None),
        ([], "systemd"),
    ]
    both = v1 + V2.format("/sys/fs/cgroup/unified")
    plant(tmp_path, {"proc/self/mountinfo": both})
    assert read_cgroups(copied(tmp_path))["layout"] == "hybrid"


def test_mount_points_with_blanks_and_duplicates_are_read() -> None:
    (found,) = parse_mounts(V2.format(r"/c\040g") + V2.format(r"/c\040g"))
    assert found["path"] == "/c g"


def test_chroot_mounts_of_a_hierarchy_count_once() -> None:
    chroots = "".join(V2.format(f"/srv/{n}/sys/fs/cgroup") for n in range(9))
    v1 = "".join(V1.format(0, 0, f"{at}cpu", "rw,cpu") for at in ("x/", "", "y/z/"))
    part = V2.format("/srv/part").replace(" / ", " /docker/1 ", 1)
    found = parse_mounts(chroots + V2.format("/sys/fs/cgroup") + v1 + part)
    assert [one["path"] for one in found] == [
        "/sys/fs/cgroup",
        "/sys/fs/cgroup/cpu",
        "/srv/part",
    ]


def test_missing_cgroup_mount_is_reported(tmp_path: Path) -> None:
    machine = copied(plant(tmp_path, {"proc/self/mountinfo": OTHER}))
    with pytest.raises(SourceMissingError, match="no cgroup hierarchy"):
        read_cgroups(machine)


def test_truncated_lines_are_read() -> None:
    whole = V2.format("/sys/fs/cgroup")
    for cut in range(len(whole)):
        assert len(parse_mounts(whole[:cut])) <= 1


def test_cgroups_of_this_machine_are_read() -> None:
    assert read_cgroups()["hierarchies"]
