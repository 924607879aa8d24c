"""Limit on open descriptors for libpcp, which waits for its sockets with select().

select() only takes descriptors below 1,024. If the limit on open files was raised, a
higher one would abort the whole process (FD_SET in a hardened build).
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from core.linux.pmapi.binding import PmError

_FD_SETSIZE = 1024
_OPENED_MEANWHILE = 64  # by other code
_OPEN = Path("/proc/self/fd")


class FdLimit:
    """The descriptors that the library can use; threads share them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._opening = 0

    @contextmanager
    def for_one(self) -> Iterator[None]:
        """Reserve a descriptor for a new socket; raises PmError if few are left."""
        with self._lock:
            if _low() + self._opening >= _FD_SETSIZE - _OPENED_MEANWHILE:
                raise PmError(-errno.EMFILE)
            self._opening += 1
        try:
            yield
        finally:
            with self._lock:
                self._opening -= 1


ROOM = FdLimit()


def _low() -> int:
    """Return how many of the descriptors that the library can use are open."""
    try:
        return sum(int(one.name) < _FD_SETSIZE for one in _OPEN.iterdir())
    except OSError as error:
        raise PmError(-(error.errno or errno.EMFILE)) from error
