"""VictoriaMetrics' parts on disk, as old and new releases write them."""

import json
from pathlib import Path

from sampling.cost.disk import DiskBlocks, index_bytes, parts_in

FILES = {"values.bin": 100, "timestamps.bin": 20, "index.bin": 7, "metaindex.bin": 3}


def part(
    store: Path, name: str, size: str = "small", content: str | None = None
) -> Path:
    folder = store / "data" / size / "2026_11" / name
    folder.mkdir(parents=True)
    for file, length in FILES.items():
        (folder / file).write_bytes(b"x" * length)
    if content is not None:
        (folder / "metadata.json").write_text(content)
    return folder


def test_parts_give_points_blocks_and_bytes(tmp_path: Path) -> None:
    content = json.dumps({"RowsCount": 500, "BlocksCount": 9, "MinTimestamp": 1})
    part(tmp_path, "18EA273C320F35D7", content=content)
    part(tmp_path, "600_10_20261121190000000_20261121200000000_18EA27", "big")
    assert sorted(parts_in(tmp_path)) == [
        DiskBlocks(500, 9, 130),
        DiskBlocks(600, 10, 130),
    ]


def test_invalid_parts_are_omitted(tmp_path: Path) -> None:
    part(tmp_path, "a", content="{")
    part(tmp_path, "b", content="[]")
    part(tmp_path, "c", content='{"RowsCount": 5}')
    part(tmp_path, "d")
    content = json.dumps({"RowsCount": 5, "BlocksCount": 1})
    (part(tmp_path, "e", content=content) / "values.bin").unlink()
    assert parts_in(tmp_path) == []
    assert parts_in(tmp_path / "none") == []


def test_index_size_covers_all_storage_layouts(tmp_path: Path) -> None:
    for folder in ("indexdb/18EA", "data/indexdb/2026_11/18EB"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "items.bin").write_bytes(b"x" * 10)
    assert index_bytes(tmp_path) == 20
    assert index_bytes(tmp_path / "none") == 0
