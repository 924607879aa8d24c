"""Files are read whole and bounded in size; a failure is a one-line error."""

import os
import socket
from pathlib import Path

import pytest

from ingest.errors import (
    MalformedSourceError,
    SourceMissingError,
    SourceRefusedError,
)
from ingest.sources.files import parse_cpulist, read_file, read_number, read_value


def test_file_up_to_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "topology.xml"
    path.write_bytes(b"12345")
    assert read_file(path, limit=5) == b"12345"
    with pytest.raises(MalformedSourceError, match="larger than the limit of 4 bytes"):
        read_file(path, limit=4)


def test_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="none.xml does not exist"):
        read_file(tmp_path / "none.xml")


def test_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceRefusedError, match="check that it is a regular file"):
        read_file(tmp_path)


def test_pipes_sockets_and_devices_are_refused(tmp_path: Path) -> None:
    pipe, name = tmp_path / "pipe", tmp_path / "socket"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(name))
        for path in (pipe, name, Path("/dev/zero"), Path("/dev/ptmx")):
            with pytest.raises(
                SourceRefusedError, match="check that it is a regular file"
            ):
                read_file(path)


def test_link_to_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    assert read_file(tmp_path / "link") == b"x"


@pytest.mark.parametrize(
    ("text", "value"),
    [("Samsung SSD \n", "Samsung SSD"), ("\n", None), ("a\0", "a"), ("  ", None)],
)
def test_values_are_stripped_and_empty_ones_are_none(
    tmp_path: Path, text: str, value: str | None
) -> None:
    (tmp_path / "model").write_text(text)
    assert read_value(tmp_path / "model") == value


def test_invalid_number_is_none(tmp_path: Path) -> None:
    for text in ("fast\n", "1_0", "٣"):
        (tmp_path / "speed").write_text(text)
        assert read_number(tmp_path / "speed") is None
    assert read_number(tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0-3,8\n", [0, 1, 2, 3, 8]), ("5", [5]), ("", []), ("8,0-1", [0, 1, 8])],
)
def test_cpu_lists_are_parsed(text: str, cpus: list[int]) -> None:
    assert parse_cpulist(text) == cpus


def test_invalid_cpu_list_is_refused() -> None:
    for text in ("0-x", "1_0", "٣"):
        with pytest.raises(MalformedSourceError, match="not a list of CPUs"):
            parse_cpulist(text)
