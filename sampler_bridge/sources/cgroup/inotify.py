"""Waits for changes in many folders, with the kernel's inotify(7).

It calls libc directly because Python has no inotify. Packages on PyPI do the same.
"""

import ctypes
import errno
import os
import select
import struct
from collections.abc import Iterable
from contextlib import suppress

_MODIFY, _CREATE, _DELETE, _MOVED = 0x2, 0x100, 0x200, 0x40 | 0x80
_ONLY_FOLDERS = 0x0100_0000
_MASK = _CREATE | _DELETE | _MOVED | _ONLY_FOLDERS
_OVERFLOW, _IS_FOLDER, _IGNORED = 0x4000, 0x4000_0000, 0x8000
_EVENT = struct.Struct("iIII")
_MOST_BYTES = 64 * 1024

_LIBC = ctypes.CDLL(None, use_errno=True)


class FolderWatch:
    """Reports folders that appear in or disappear from others, and written files.

    ``problem`` says why some are not watched. Only `wake` may be called by any thread.
    """

    def __init__(self) -> None:
        self.problem: str | None = None
        self._descriptor = _LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            self.problem = _reason("raise fs.inotify.max_user_instances")
        self._alarm = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._known: dict[str, int] = {}
        self._written: set[str] = set()

    def watch(self, folders: Iterable[str], files: Iterable[str] = ()) -> bool:
        """Watch these and no others; return whether any of the folders is new.

        A newly watched file counts as written, because it may have been written before.
        """
        if self._descriptor < 0:
            return False
        wanted = dict.fromkeys(files, _MODIFY) | dict.fromkeys(folders, _MASK)
        for path in self._known.keys() - wanted.keys():
            _LIBC.inotify_rm_watch(self._descriptor, self._known.pop(path))
        self.problem = None
        new = wanted.keys() - self._known.keys()
        added = {path for path in new if self._add(path, wanted[path])}
        self._written |= {path for path in added if wanted[path] == _MODIFY}
        return any(wanted[path] == _MASK for path in added)

    def take_written(self) -> set[str]:
        """The watched files that were written since the last call."""
        found, self._written = self._written, set()
        return found

    def wait(self, seconds: float) -> bool:
        """Wait up to ``seconds``, or until something changes or `wake` is called.

        Returns whether a folder appeared in or disappeared from a watched one.
        """
        poll = select.poll()
        poll.register(self._alarm, select.POLLIN)
        if self._descriptor >= 0:
            poll.register(self._descriptor, select.POLLIN)
        poll.poll(1000 * seconds)
        with suppress(BlockingIOError):
            os.eventfd_read(self._alarm)
        return self._descriptor >= 0 and self._has_changes()

    def wake(self) -> None:
        """End the current wait, or else the next one."""
        os.eventfd_write(self._alarm, 1)

    def close(self) -> None:
        """Stop watching."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        os.close(self._alarm)
        self._descriptor = -1

    def _add(self, path: str, mask: int) -> bool:
        name = os.fsencode(path)
        number = _LIBC.inotify_add_watch(self._descriptor, name, mask)
        if number >= 0:
            self._known[path] = number
        elif ctypes.get_errno() == errno.ENOSPC:
            self.problem = _reason("raise fs.inotify.max_user_watches")
        return bool(number >= 0)

    def _has_changes(self) -> bool:
        found = False
        with suppress(BlockingIOError):
            while events := os.read(self._descriptor, _MOST_BYTES):
                found |= self._handle(events)
        return found

    def _handle(self, events: bytes) -> bool:
        """Note written and deleted files; return whether the folders changed."""
        found, at, written = False, 0, set()
        while at < len(events):
            number, mask, _, length = _EVENT.unpack_from(events, at)
            at += _EVENT.size + length
            if mask & _IGNORED:
                self._known = {f: n for f, n in self._known.items() if n != number}
            found |= bool(mask & (_IS_FOLDER | _OVERFLOW | _IGNORED))
            written |= {number} if mask & _MODIFY else set()
        if written:
            self._written |= {f for f, n in self._known.items() if n in written}
        return found


def _reason(setting: str) -> str:
    error = os.strerror(ctypes.get_errno())
    return f"new cgroups are noticed within a second, not at once ({error}): {setting}"
