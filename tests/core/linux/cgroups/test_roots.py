"""Which folders the roots match: on planted trees, and with awkward names."""

import errno
import os
from pathlib import Path

import pytest

from core.linux.cgroups import roots
from core.linux.cgroups.errors import CgroupError
from core.linux.cgroups.roots import DEFAULT_ROOTS, find_groups, parse_roots
from tests.limits import no_more_files

V1 = (
    "slurm/uid_1000/job_7/step_0/task_0",
    "slurm/uid_1000/job_7/step_batch",
    "slurm_n1/uid_0/job_8",
    "oar/alice_12",
    "docker/0a1b",
)
V2 = (
    "system.slice/slurmstepd.scope/job_9/step_0/user/task_0",
    "system.slice/n1_slurmstepd.scope/job_10/step_extern",
    "system.slice/ssh.service",
)


def made(root: Path, paths: tuple[str, ...]) -> str:
    for path in paths:
        (root / path).mkdir(parents=True)
    return str(root)


def found(mount: str, text: str) -> list[str]:
    return sorted(find_groups([mount], parse_roots(text)).folders)


def test_default_finds_jobs_and_steps_of_slurm_and_oar(tmp_path: Path) -> None:
    default = ",".join(DEFAULT_ROOTS)
    assert found(made(tmp_path / "1", V1), default) == [
        "/oar/alice_12",
        "/slurm/uid_1000/job_7",
        "/slurm/uid_1000/job_7/step_0",
        "/slurm/uid_1000/job_7/step_batch",
        "/slurm_n1/uid_0/job_8",
    ]
    assert found(made(tmp_path / "2", V2), default) == [
        "/system.slice/n1_slurmstepd.scope/job_10",
        "/system.slice/n1_slurmstepd.scope/job_10/step_extern",
        "/system.slice/slurmstepd.scope/job_9",
        "/system.slice/slurmstepd.scope/job_9/step_0",
    ]
    assert found(str(tmp_path / "none"), default) == []


def test_folder_includes_everything_below_like_two_stars(tmp_path: Path) -> None:
    mount = made(tmp_path, V1)
    below = [f"/{V1[0].rsplit('/', 1)[0]}", f"/{V1[0]}", f"/{V1[1]}"]
    assert found(mount, "slurm/uid_1000/job_7") == below
    assert found(mount, "/slurm/uid_1000/job_7/") == below
    assert found(mount, "slurm/*/job_7/**") == below
    assert found(mount, "docker, oar/*_12") == ["/docker/0a1b", "/oar/alice_12"]
    assert found(mount, "") == []


def test_same_path_below_two_mounts_is_one_group(tmp_path: Path) -> None:
    mounts = [made(tmp_path / name, ("a/b",)) for name in ("memory", "pids")]
    (path,) = find_groups(mounts, parse_roots("a")).folders.items()
    numbers = {mount: Path(mount, "a/b").stat().st_ino for mount in mounts}
    assert path == ("/a/b", numbers)


def test_names_that_are_not_valid_labels_are_skipped_and_reported(
    tmp_path: Path,
) -> None:
    made(tmp_path, ("a/two\nlines", "a/tab\t", "a/\N{SNOWMAN} b\"'"))
    (tmp_path / os.fsdecode(b"a/\xff")).mkdir()
    looked = find_groups([str(tmp_path)], parse_roots("a"))
    assert [*looked.folders] == ["/a/\N{SNOWMAN} b\"'"]
    assert looked.odd == {"/a/two\nlines", "/a/tab\t", "/a/\udcff"}


def test_scan_ends_at_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roots, "MOST_FOUND", 3)
    looked = find_groups([made(tmp_path, V1)], parse_roots("slurm,oar"))
    assert looked.cut
    assert len(looked.folders) == 3
    assert looked.may_hide(f"{tmp_path}/oar/alice_12")


def test_unreadable_folder_is_not_taken_as_empty(tmp_path: Path) -> None:
    mount = made(tmp_path, V1)
    with no_more_files():
        looked = find_groups([mount], parse_roots("slurm,oar/*,none"))
    assert looked.unread == {
        f"{mount}/{name}": errno.EMFILE for name in ("slurm", "oar")
    }
    assert not looked.is_whole
    assert looked.may_hide(f"{mount}/{V1[0]}")
    assert not looked.may_hide(f"{mount}/none/1")
    assert not looked.may_hide(f"{mount}/slurm_n1/uid_0/job_8")


def test_missing_folder_hides_no_groups(tmp_path: Path) -> None:
    mount = made(tmp_path, ("a",))
    (tmp_path / "a/file").write_text("")
    looked = find_groups([mount, f"{mount}/gone"], parse_roots("a/file/*,none"))
    assert looked.is_whole
    assert not looked.may_hide(f"{mount}/a/file/1")


@pytest.mark.parametrize("text", ["a//b", "../x", "/", "a/./b", "a\nb", "**/a", "a**"])
def test_invalid_root_is_refused_by_name(text: str) -> None:
    with pytest.raises(CgroupError, match="cgroup root"):
        parse_roots(f"fine/*,{text}")
