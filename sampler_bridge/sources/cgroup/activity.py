"""Finds when the last process of a group ended, from ``cgroup.events`` (version 2)."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from core.linux.cgroups.files import parse_flat, read_file
from core.linux.cgroups.groups import UNIFIED, Cgroup

_FILE, _KEY = "cgroup.events", "populated"


class CgroupActivity:
    """Knows which groups had processes, and since when they have none; not thread-safe.

    A scheduler removes the folder of a job some time after its last process ended.
    Groups that also have a folder of version 1 are left out, because that folder holds
    their processes.
    """

    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._used: set[str] = set()
        self._empty: dict[str, int] = {}

    def files(self, groups: Mapping[str, Cgroup]) -> Iterable[str]:
        """Return the files of groups that are to be read whenever they are written."""
        self._files = {
            file: path
            for path, group in groups.items()
            if group.versions == (2,) and (file := group.file(UNIFIED, _FILE))
        }
        return self._files

    def read(self, files: Iterable[str], now_ms: int) -> None:
        """Read some of the files again."""
        for file in files:
            path = self._files.get(file)
            with suppress(OSError):  # the group is gone: the next scan finds that
                if path is not None:
                    self._note(path, parse_flat(read_file(file)).get(_KEY), now_ms)

    def end(self, path: str, now_ms: int) -> int:
        """Return when a deleted group became empty; now if that is unknown."""
        self._used.discard(path)
        return self._empty.pop(path, now_ms)

    def _note(self, path: str, populated: int | None, now_ms: int) -> None:
        if populated:
            self._used.add(path)
            self._empty.pop(path, None)
        elif populated == 0 and path in self._used:
            self._empty.setdefault(path, now_ms)
