"""Files of a crate, as bytes."""

from collections.abc import Mapping, Set
from pathlib import Path

from observations.exchange.crate_reader import MOST_BYTES, read_crate


def contents(path: Path, wanted: Set[str], most: int = MOST_BYTES) -> dict[str, bytes]:
    """Return what `read_crate` unpacks next to a crate; check that nothing stays."""
    room = path.parent
    before = {*room.iterdir()}
    try:
        with read_crate(path, wanted, room, most) as files:
            return {name: copy.read_bytes() for name, copy in files.items()}
    finally:
        assert {*room.iterdir()} == before


def unpacked(folder: Path, files: Mapping[str, bytes]) -> dict[str, Path]:
    """Write the files of a crate to a folder; return them as `read_crate` does."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return {name: folder / name for name in files}
