"""fio: its JSON as results, and the real program."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks.errors import BenchmarkFolderError, BenchmarkOutputError
from benchmarks.installed.fio import check_folder, fio_command, read_fio
from benchmarks.programs import Target
from tests.live_files import entries_below
from tests.servers import ENDS_WITH_US, wait_until

SIDE = {
    **{"bw_bytes": 4096000, "iops": 1000.0},
    "clat_ns": {"mean": 9000.0, "percentile": {"99.000000": 30000}},
}
JOB: dict[str, Any] = {
    **{"jobname": "a", "error": 0, "read": SIDE, "write": {**SIDE, "iops": 0.0}},
    "job options": {"rw": "randread", "bs": "4k", "iodepth": "32"},
}


def output(*jobs: dict[str, Any], **changed: Any) -> str:
    document = {
        **{"fio version": "fio-3.33", "global options": {"ioengine": "libaio"}},
        **{"jobs": [*jobs], "disk_util": [{"name": "sda"}]},
    }
    return json.dumps(document | changed)


def job(**options: str) -> dict[str, Any]:
    return {**JOB, "job options": JOB["job options"] | options}


def run(folder: Path, *, jobs: int = 1, mebibytes: int = 1) -> Any:
    words = fio_command(str(folder), jobs, mebibytes, 0.02)
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=300
    )


def test_random_reads_have_operations_and_latencies() -> None:
    found = {one.kind.split(",")[0]: one for one in read_fio("xfs\n" + output(JOB))}
    assert found["operations"].value == 1000
    assert found["mean latency"].value == 9000
    assert found["99 % latency"].value == 30000
    assert found["operations"].variant == (
        "operations, xfs, page cache, depth 32, 4096 B, fio-3.33"
    )
    assert {one.disk for one in found.values()} == {"sda"}


def test_jobs_of_the_same_settings_are_repetitions() -> None:
    slow = {**JOB, "read": {**SIDE, "iops": 500.0}}
    found = read_fio(output(JOB, slow, slow, job(bs="8k", numjobs="2")))
    values = {(one.transfer, one.threads, one.repeats): one.value for one in found[::3]}
    assert values == {(4096, 1, 3): 500.0, (8192, 2, 1): 1000.0}


def test_engine_that_waits_has_no_depth() -> None:
    (first, *_) = read_fio(output(job(ioengine="psync", direct="1")))
    assert "direct, depth 1," in first.variant


@pytest.mark.parametrize(
    ("text", "size"), [("4096", 4096), ("4KiB", 4096), ("1M", 1048576)]
)
def test_sizes_of_blocks_are_read(text: str, size: int) -> None:
    (one,) = read_fio(output(job(rw="read", bs=text)))
    assert (one.transfer, one.unit, one.kernel) == (
        *(size, "BYTE-PER-SEC"),
        "sequential read",
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fio: command not found",
        output(JOB)[:-20],
        output({**JOB, "error": 28}),
        output(job(rw="randrw")),
        output(job(bs="4k,8k")),
        # fio 2 writes microseconds
        output({**JOB, "read": {**SIDE, "clat_ns": None, "clat": {"mean": 9.0}}}),
        output({**JOB, "read": {**SIDE, "iops": 0.0}}),
        output(jobs=[{}]),
        output(),
        output({**JOB, "read": {**SIDE, "iops": float("nan")}}),
        output({**JOB, "read": {**SIDE, "iops": float("inf")}}),
        output({**JOB, "read": {**SIDE, "iops": 10**400}}),
        output({**JOB, "read": {**SIDE, "iops": "1000"}}),
        output(job(numjobs="1" * 25)),
        output(job(numjobs="0")),
        output(job(numjobs="-3")),
        output(job(iodepth="-1")),
        output(job(bs="-4k")),
        output(job(bs="")),
        output(job(bs="0")),
        output(job(rw="\ud800")),
        output(JOB, **{"fio version": None}),
        output(JOB, **{"fio version": "3" * 2_000_000}),
        output(JOB, **{"fio version": "fio\n3"}),
        output(JOB, **{"fio version": "fio\0"}),
        output(JOB, **{"fio version": "\ud800"}),
        output(disk_util=[{"name": "\x01"}]),
        '{"jobs": ' + "[" * 100_000,
        output(jobs=None),
        "[1, 2]",
    ],
)
def test_bad_output_is_refused(text: str) -> None:
    with pytest.raises(BenchmarkOutputError) as caught:
        read_fio(text)
    assert caught.value.code == "bad-benchmark-output"
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()


def test_wrong_field_is_named() -> None:
    with pytest.raises(BenchmarkOutputError, match=r"numjobs: expected .* '-3'"):
        read_fio(output(job(numjobs="-3")))


def test_warning_before_the_output_is_no_file_system() -> None:
    assert read_fio("fio: depth is capped at 1\n" + output(JOB))[0].system == ""


def test_installed_program_is_run(tmp_path: Path) -> None:
    done = run(tmp_path, jobs=2, mebibytes=4)
    assert done.returncode == 0, done.stderr
    found = read_fio(done.stdout)
    assert {one.kernel for one in found} == {
        *("sequential read", "sequential write", "random read", "random write")
    }
    assert {(one.threads, one.repeats >= 6) for one in found} == {(2, True)}
    assert len({one.id for one in found}) == len(found)
    assert all(one.system for one in found)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("folder", "mebibytes", "says"),
    [
        ("/no/such", 1, "/no/such is not a folder"),
        ("/proc", 1, "/proc"),
        (".", 1, "is not an absolute path"),
        ("/tmp", 1 << 30, "MB are free"),
    ],
)
def test_folder_without_room_is_named(folder: str, mebibytes: int, says: str) -> None:
    with pytest.raises(BenchmarkFolderError, match=f"{says}.* on n1") as caught:
        check_folder(folder, mebibytes, Target("n1"))
    assert caught.value.code == "bad-benchmark-folder"


def test_folder_with_room_is_accepted(tmp_path: Path) -> None:
    check_folder(str(tmp_path), 1, Target("n1"))
    assert not [*tmp_path.iterdir()]


def test_program_that_is_killed_leaves_no_files(tmp_path: Path) -> None:
    words = fio_command(str(tmp_path), 1, 1, 60)
    with subprocess.Popen([*ENDS_WITH_US, *words], process_group=0) as process:
        wait_until(
            lambda: "jobs.fio" in {path.name for path in entries_below(tmp_path)}
        )
        os.killpg(process.pid, 15)
        process.wait(60)
    assert process.returncode != 0
    assert not [*tmp_path.iterdir()]
