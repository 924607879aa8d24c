"""A spool gives back what was written, from memory or from a file without a name."""

import asyncio
import os
from pathlib import Path

import pytest

from core.errors import DiskFullError, FileError
from core.stores.spool import MEMORY, Spool
from tests.disk import small_disk

PART = os.urandom(64 * 1024)


def written(spool: Spool, parts: int) -> bytes:
    async def work() -> bytes:
        for _ in range(parts):
            await spool.write(PART)
        return b"".join([part async for part in spool.parts()])

    return asyncio.run(work())


def files() -> list[str]:
    """Return the open files of this process that have no name any more."""
    found = [*Path("/proc/self/fd").iterdir()]
    links = (str(path.readlink()) for path in found if path.is_symlink())
    return [link for link in links if link.endswith("(deleted)")]


@pytest.mark.parametrize("parts", [0, 1, MEMORY // len(PART), 200])
def test_everything_is_read_again(tmp_path: Path, parts: int) -> None:
    spool, before = Spool(tmp_path), len(files())
    assert written(spool, parts) == parts * PART
    assert spool.size == parts * len(PART)
    is_small = spool.size <= MEMORY
    assert spool.in_memory == (parts * PART if is_small else None)
    assert len(files()) == before + (0 if is_small else 1)
    assert not [*tmp_path.iterdir()]
    spool.close()
    spool.close()
    assert len(files()) == before


def test_cleared_spool_is_empty(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    written(spool, 100)
    spool.clear()
    assert (spool.size, spool.in_memory) == (0, b"")
    assert written(spool, 1) == PART
    spool.close()


def test_error_names_the_folder(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(FileError, match=str(missing)):
        written(Spool(missing), 100)


def test_full_disk_is_named(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 5 * 1024) as folder:
        spool = Spool(folder)
        with pytest.raises(DiskFullError, match="No space left"):
            written(spool, 200)
        spool.close()
