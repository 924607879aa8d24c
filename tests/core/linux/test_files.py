"""Files keep their old content or get the whole new one, even on a full disk."""

import json
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from core.linux.files import read_json, write_reserved, write_whole
from tests.disk import fill, small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 512) as folder:
        yield folder


def test_written_document_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    for number in range(5):
        for length in (1, 40_000, 100, 90_000):
            document = {"number": number, "text": "ü" * length}
            write_reserved(path, json.dumps(document))
            assert read_json(path) == document
    assert {p.name for p in tmp_path.iterdir()} == {
        *("status.json", "status.json.a", "status.json.b")
    }


@pytest.mark.parametrize("before", [1, 2])
def test_full_disk_accepts_repeated_writes_of_reserved_size(
    disk: Path, before: int
) -> None:
    path = disk / "status.json"
    for number in range(before):
        write_reserved(path, json.dumps({"number": number}))
    filler = fill(disk)
    for number in range(3, 20):
        write_reserved(path, json.dumps({"number": number, "why": "full" * number}))
        assert read_json(path) == {"number": number, "why": "full" * number}
    assert filler.stat().st_size > 300_000


def test_too_long_text_on_a_full_disk_keeps_the_old_one(disk: Path) -> None:
    path = disk / "status.json"
    for number in (1, 2, 3):
        write_reserved(path, json.dumps({"number": number}))
    filler = fill(disk)
    with pytest.raises(OSError, match="No space left"):
        write_reserved(path, json.dumps({"text": "x" * 100_000}))
    assert read_json(path) == {"number": 3}
    write_reserved(path, json.dumps({"number": 4}))
    assert read_json(path) == {"number": 4}
    filler.unlink()
    write_reserved(path, json.dumps({"text": "x" * 100_000}))
    assert read_json(path) == {"text": "x" * 100_000}


def test_failed_draft_is_removed(disk: Path) -> None:
    path = disk / "plan.json"
    write_whole(path, "old")
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "x" * 1_000_000)
    assert path.read_text() == "old"
    assert [p.name for p in disk.iterdir()] == ["plan.json"]


def test_reader_never_sees_a_partial_text(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    write_reserved(path, "{}")
    ended = threading.Event()

    def write() -> None:
        for number in count():
            write_reserved(path, json.dumps([number] * 5000))
            if ended.wait(0.002):
                return

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    try:
        while len(seen) < 200:
            found = read_json(path)
            assert found == {} or len(set(found)) == 1 and len(found) == 5000
            seen.add(found[0] if found else -1)
    finally:
        ended.set()
        writer.join()


def test_ordinary_file_of_the_same_name_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    path.write_text("old")
    (tmp_path / "status.json.new").write_text("left over")
    write_reserved(path, "{}")
    assert read_json(path) == {}


def test_filesystem_without_links_is_written_too(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    for name in ("a", "b"):
        (tmp_path / f"status.json.{name}").mkdir()
    write_reserved(path, "{}")
    assert read_json(path) == {}
