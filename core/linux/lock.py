"""File locks: the supervisor's lock, and turns between commands.

The kernel drops a lock when its process dies.
"""

import fcntl
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from core.linux.private_folder import make_private

_FLOCK = "@hhqqi"
# Writers of samples share this lock, except while some samples are deleted.
WRITING = "writing"


def _path(home: Path) -> Path:
    return home / "supervisor.lock"


def acquire(home: Path) -> IO[str] | None:
    """Take the lock for as long as the file stays open; None if it is taken.

    Nothing else in the process may open and close that file: POSIX drops the lock at
    the first close.
    """
    file = _opened(_path(home))
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        file.close()
        return None
    return file


def holder(home: Path) -> int | None:
    """Return the process id of the supervisor that holds ``home``; None without one.

    The id comes from the kernel, so it is never stale: a dead process holds no lock.
    """
    try:
        with _path(home).open("rb") as file:
            query = struct.pack(_FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
            answer = fcntl.fcntl(file, fcntl.F_GETLK, query)
    except (FileNotFoundError, NotADirectoryError):
        return None
    kind, _, _, _, pid = struct.unpack(_FLOCK, answer)
    return None if kind == fcntl.F_UNLCK else pid


@contextmanager
def turn(home: Path, on_wait: Callable[[], None], name: str = "up") -> Iterator[None]:
    """Let one process at a time do a task; call ``on_wait`` if another is doing it.

    ``name`` identifies the task; the default is to bring up the installation. If the
    lock file cannot be created, do not wait: the start that follows reports the
    problem.
    """
    try:
        make_private(home)
        file = _opened(home / f"{name}.lock")
    except OSError:
        yield
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def together(folder: Path, name: str) -> Iterator[None]:
    """Do a task while others do it too, but not during a `turn` of that name.

    If the lock file cannot be created, do not wait.
    """
    try:
        file = _opened(folder / f"{name}.lock")
    except OSError:
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def _opened(path: Path) -> IO[str]:
    """Open a lock file privately: any user who can open it can lock it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    return os.fdopen(descriptor, "a", encoding="utf-8")
