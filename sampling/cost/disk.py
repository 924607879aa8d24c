"""What VictoriaMetrics has written: its parts, each with its number of points."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from core.linux.files import read_json

# Points of one series that are stored together; each block has a header.
POINTS_A_BLOCK = 8192
_POINTS, _HEADERS = ("values.bin", "timestamps.bin"), ("index.bin", "metaindex.bin")
# Older releases write the numbers of rows and blocks into the name of a part.
_NAMED = re.compile(r"(\d+)_(\d+)_\d+_\d+_[0-9A-F]+")


class DiskBlocks(NamedTuple):
    """The points of a part, their number of blocks, and the bytes of both."""

    points: int
    blocks: int
    bytes: int


def parts_in(store: Path) -> list[DiskBlocks]:
    """The parts in a store's folder.

    A running store may remove a part meanwhile; such a part is left out.
    """
    found: list[DiskBlocks] = []
    for size in ("small", "big"):
        for folder in (store / "data" / size).glob("*/*"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                found.extend(_part(folder))
    return found


def index_bytes(store: Path) -> int:
    """Bytes of the index, which maps labels to series."""
    folders = (store / "data" / "indexdb", store / "indexdb")
    return sum(
        path.stat().st_size
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file()
    )


def _part(folder: Path) -> Iterator[DiskBlocks]:
    named = _NAMED.fullmatch(folder.name)
    if named:
        points, blocks = int(named[1]), int(named[2])
    elif (folder / "metadata.json").exists():
        metadata = read_json(folder / "metadata.json")
        if not isinstance(metadata, dict):
            return
        points, blocks = int(metadata["RowsCount"]), int(metadata["BlocksCount"])
    else:
        return
    sizes = ((folder / name).stat().st_size for name in (*_POINTS, *_HEADERS))
    yield DiskBlocks(points, blocks, sum(sizes))
