"""The paths of control groups by the number that the kernel's part counts by."""

import os
from collections.abc import Iterable
from pathlib import Path

from core.linux.cgroups.mounts import read_mounts


class CgroupNames:
    """Paths of groups of version 2; that of a group that is gone stays known."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def names(self, numbers: Iterable[int]) -> dict[int, str]:
        """The path of each, or its number if the group was gone before it was seen."""
        asked = set(numbers)
        if asked - self._known.keys():
            self._search()
        for number in asked - self._known.keys():
            self._known[number] = str(number)
        return {number: self._known[number] for number in asked}

    def _search(self) -> None:
        """The number of a group is that of its folder."""
        try:
            mounts = [one["path"] for one in read_mounts() if one["version"] == 2]
        except OSError:
            return
        for mount in mounts:
            for folder, _, _ in os.walk(mount):
                try:
                    number = Path(folder).stat().st_ino
                except OSError:  # it ended meanwhile
                    continue
                self._known[number] = folder.removeprefix(mount) or "/"
