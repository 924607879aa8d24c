"""Adds known groups that still exist although a scan could not see them."""

import stat
from collections.abc import Mapping
from pathlib import Path

from core.linux.cgroups.roots import GONE, RootMatches

# By path below the mounts: the inode number of the group's folder in each mount.
Folders = Mapping[str, Mapping[str, int]]


def with_hidden(found: RootMatches, known: Folders) -> Folders:
    """The folders that were found, and the known ones that the scan missed."""
    if found.is_whole:
        return found.folders
    folders: dict[str, Mapping[str, int]] = {**found.folders}
    for path, numbers in known.items():
        seen = folders.get(path, {})
        if hidden := _hidden(found, path, numbers, seen):
            folders[path] = {**hidden, **seen}
    return folders


def _hidden(
    found: RootMatches, path: str, numbers: Mapping[str, int], seen: Mapping[str, int]
) -> dict[str, int]:
    # The path has another folder now: the known numbers are of an earlier group.
    if seen and not seen.items() & numbers.items():
        return {}
    present = {
        mount: _number(f"{mount}{path}", number)
        for mount, number in numbers.items()
        if mount not in seen and found.may_hide(f"{mount}{path}")
    }
    return {mount: number for mount, number in present.items() if number is not None}


def _number(folder: str, known: int) -> int | None:
    """The folder's inode number, read without a descriptor; None if it is gone."""
    try:
        status = Path(folder).lstat()
    except OSError as error:
        return None if error.errno in GONE else known
    return status.st_ino if stat.S_ISDIR(status.st_mode) else None
