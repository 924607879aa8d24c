"""Unreadable crates are refused with a one-line error, using little memory."""

import os
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from observations.errors import CrateError
from observations.exchange.crate import METADATA
from observations.exchange.crate_reader import read_crate
from tests.crates import contents

WANTED = {"series.csv"}


def packed(path: Path, *members: tuple[str, bytes], method: int = 8) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in ((METADATA, b"{}"), *members):
            archive.writestr(name, content)
    return path


def changed(path: Path, offset: int, value: int) -> Path:
    """The zip with two bytes changed in its members' headers.

    ``offset`` is relative to the local header; the central directory has the field two
    bytes later.
    """
    content = bytearray(path.read_bytes())
    for mark, more in ((b"PK\3\4", 0), (b"PK\1\2", 2)):
        at = -1
        while (at := content.find(mark, at + 1)) >= 0:
            content[at + offset + more : at + offset + more + 2] = value.to_bytes(
                2, "little"
            )
    path.write_bytes(content)
    return path


def refusal(path: Path, most: int = 1 << 20) -> str:
    with pytest.raises(CrateError) as refused:
        contents(path, WANTED, most)
    return str(refused.value)


def test_encrypted_zip_is_refused(tmp_path: Path) -> None:
    path = changed(packed(tmp_path / "c.zip", ("series.csv", b"x")), 6, 1)
    assert "is encrypted: pack it without a password" in refusal(path)


def test_unknown_compression_is_refused(tmp_path: Path) -> None:
    path = changed(packed(tmp_path / "c.zip", ("series.csv", b"x")), 8, 93)
    assert "is compressed by method 93, which is not supported" in refusal(path)


@pytest.mark.parametrize("method", [0, 8, 12, 14])
def test_damaged_zip_is_refused(tmp_path: Path, method: int) -> None:
    path = packed(tmp_path / "c.zip", ("series.csv", b"abc" * 999), method=method)
    whole = path.read_bytes()
    assert contents(path, WANTED)["series.csv"] == b"abc" * 999
    at = whole.index(b"series.csv") + len("series.csv")
    path.write_bytes(whole[:at] + bytes(12) + whole[at + 12 :])
    assert f"{path} cannot be read (" in refusal(path)
    path.write_bytes(whole[: len(whole) // 2])
    assert f"{path} cannot be read (" in refusal(path)


def test_no_more_than_the_limit_is_unpacked(tmp_path: Path) -> None:
    path = packed(tmp_path / "c.zip", ("series.csv", bytes(64 << 20)))
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    try:
        assert "it holds more than 1 MiB, which is the limit" in refusal(path)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_large_files_are_unpacked_in_little_memory(tmp_path: Path) -> None:
    path = packed(tmp_path / "c.zip", ("series.csv", bytes(64 << 20)))
    tracemalloc.start()
    try:
        with read_crate(path, WANTED, tmp_path) as files:
            assert files["series.csv"].stat().st_size == 64 << 20
            assert files["series.csv"].parent.stat().st_mode & 0o077 == 0
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert [*tmp_path.iterdir()] == [path]


def test_other_files_are_not_unpacked(tmp_path: Path) -> None:
    path = packed(tmp_path / "c.zip", ("other", bytes(64 << 20)), ("series.csv", b"x"))
    assert contents(path, WANTED, 1 << 20).keys() == {METADATA, "series.csv"}


def test_duplicate_file_is_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = packed(tmp_path / "c.zip", ("series.csv", b"x"), ("series.csv", b"y"))
    assert "it holds series.csv twice" in refusal(path)


def test_folder_has_the_same_limit(tmp_path: Path) -> None:
    (tmp_path / METADATA).write_text("{}")
    (tmp_path / "series.csv").write_bytes(bytes(2 << 20))
    assert "it holds more than 1 MiB" in refusal(tmp_path)


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def link_to_file(path: Path) -> None:
    path.symlink_to(__file__)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, link_to_file, link_to_itself])
@pytest.mark.parametrize("name", [METADATA, "series.csv"])
def test_anything_but_a_regular_file_is_refused(
    tmp_path: Path, make: Callable[[Path], None], name: str
) -> None:
    folder = tmp_path / "crate"
    folder.mkdir()
    (folder / METADATA).write_text("{}")
    (folder / name).unlink(missing_ok=True)
    make(folder / name)
    expected = f"{folder}: its {name} is not a regular file: export the run again"
    assert refusal(folder) == expected
