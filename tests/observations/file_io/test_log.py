"""Real logs of Darshan, which PyDarshan ships, and logs that cannot be read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from observations.errors import BadLogError, NoDarshanError
from observations.file_io import log as log_module
from observations.file_io.log import MOST_BYTES, MOST_FILES, FileIo, IoLog, read_log
from tests.observations.file_io.shipped import (
    HDF5,
    MANY,
    NEEDS_DARSHAN,
    shipped,
)

pytestmark = NEEDS_DARSHAN


def file_of(log: IoLog, interface: str) -> FileIo:
    return next(one for one in log.files if one.interface == interface)


def test_log_has_files_by_interface() -> None:
    log = read_log(shipped(HDF5))
    assert (log.format, log.processes, log.incomplete) == ("3.21", 4, ())
    assert (log.start, log.end) == (1594155460, 1594155460)
    posix, mpi = file_of(log, "POSIX"), file_of(log, "MPI-IO")
    assert posix.path == mpi.path == "/global/cscratch1/sd/ssnyder/test123.h5"
    assert (posix.bytes_read, posix.bytes_written) == (4202504, 4195800)
    assert (posix.opens, posix.reads, posix.writes, posix.ranks) == (22, 36, 23, 4)
    # Independent and collective calls together.
    assert (mpi.opens, mpi.reads, mpi.writes) == (17, 36, 23)
    assert file_of(log, "H5D").path == f"{posix.path}:/Dataset-0000.0000"
    assert file_of(log, "STDIO").path == "<STDOUT>"
    assert {one.interface for one in log.files} == {
        *("POSIX", "MPI-IO", "STDIO", "H5F", "H5D")
    }


def test_records_of_ranks_are_summed() -> None:
    """Each of three ranks has its own record of the dataset."""
    dataset = file_of(read_log(shipped(HDF5)), "H5D")
    assert dataset.ranks == 3
    assert dataset.bytes_written == 3 << 20


def test_files_beyond_the_limit_are_summed() -> None:
    log = read_log(shipped(MANY))
    named = [one for one in log.files if one.path]
    (rest,) = (one for one in log.files if not one.path and one.interface == "POSIX")
    assert len(named) == MOST_FILES
    posix = [one for one in log.files if one.interface == "POSIX"]
    # 2048 ranks wrote 256 MiB, each into its own file.
    assert sum(one.files for one in posix) == 2048
    assert sum(one.bytes_written for one in posix) == 2048 << 28
    assert rest.files == 2048 - sum(one.interface == "POSIX" for one in named)


def test_log_that_is_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    """After 2,200 bytes this log has only modules that are not read."""
    content = shipped(HDF5).read_bytes()
    path = tmp_path / "cut.darshan"
    for size in range(500, 2200, 100):
        path.write_bytes(content[:size])
        with pytest.raises(BadLogError):
            read_log(path)


def test_log_with_a_name_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.darshan")
    path.write_bytes(shipped(HDF5).read_bytes())
    with pytest.raises(BadLogError, match="UTF-8: rename it"):
        read_log(path)


def damaged(content: bytes, at: int, new: bytes) -> bytes:
    return content[:at] + new + content[at + len(new) :]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda log: b"", "it is not a log of Darshan"),
        (lambda log: b"no log\n" * 100, "it is not a log of Darshan"),
        (
            lambda log: log[:40],
            "format 3.21 is not supported, or its header is cut off",
        ),
        (lambda log: log[:2000], "its records of H5D are damaged"),
        (lambda log: log[:1000], "are damaged"),
        (
            lambda log: damaged(log, 1500, b"\xff" * 4),
            "its records of MPI-IO are damaged",
        ),
        (lambda log: damaged(log, 0, b"9.99"), "format 9.99 is not supported"),
        (lambda log: damaged(log, 0, b"2.06"), "format 2.06 is not supported"),
    ],
)
def test_damaged_log_is_refused(change: object, why: str, tmp_path: Path) -> None:
    path = tmp_path / "a.darshan"
    path.write_bytes(change(shipped(HDF5).read_bytes()))  # type: ignore[operator]
    with pytest.raises(BadLogError) as caught:
        read_log(path)
    assert caught.value.code == "bad-io-log"
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_any_damaged_byte_is_an_error_or_changes_nothing_else(tmp_path: Path) -> None:
    """The library of PyDarshan may crash, but only its own process does."""
    path, content = tmp_path / "a.darshan", shipped(HDF5).read_bytes()
    for at in range(8, 760, 94):
        path.write_bytes(damaged(content, at, b"\xfe\xff\xff\x7f"))
        try:
            assert read_log(path).processes >= 1
        except BadLogError as error:
            assert "\n" not in str(error)


def test_places_that_are_no_log_are_refused(tmp_path: Path) -> None:
    large = tmp_path / "large.darshan"
    with large.open("wb") as file:
        file.truncate(1 << 30)
    for path, why in (
        (tmp_path / "none", "is not a file"),
        (tmp_path, "is not a file"),
        (large, f"limit of {MOST_BYTES >> 20} MiB"),
    ):
        with pytest.raises(BadLogError, match=why):
            read_log(path)


def test_missing_library_is_named(tmp_path: Path) -> None:
    """A Python without PyDarshan reads the log."""
    fake = tmp_path / "darshan_reader_alone.py"
    source = Path(log_module.__file__).with_name("darshan_reader.py").read_text()
    fake.write_text(source)
    words = [sys.executable, "-I", "-S", str(fake), str(shipped(HDF5))]
    printed = subprocess.run(words, capture_output=True, check=True, timeout=60).stdout
    with pytest.raises(NoDarshanError) as caught:
        log_module._parsed(shipped(HDF5), printed)
    assert caught.value.code == "no-darshan"
    assert "uv pip install --python .venv/bin/python darshan" in str(caught.value)
