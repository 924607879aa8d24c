"""Files of a folder in which others create and remove files."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def entries_below(folder: Path) -> Iterator[Path]:
    """Yield all files and folders; one that is removed meanwhile may be left out."""
    for at, folders, files in os.walk(folder):
        yield from (Path(at, name) for name in (*folders, *files))


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield files with their contents, without those that are removed meanwhile."""
    for path in entries_below(folder):
        with suppress(FileNotFoundError):
            if path.is_file():
                yield path, path.read_bytes()
