"""Room for the sockets of libpcp, which waits for them with select().

That takes descriptors below 1,024 alone: another one would end the whole process
(FD_SET of a hardened build aborts), where the limit on open files was raised.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from core.linux.pmapi.binding import PmError

_FD_SETSIZE = 1024
_OPENED_MEANWHILE = 64  # by others
_OPEN = Path("/proc/self/fd")


class Room:
    """The descriptors that the library can use; threads share them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._opening = 0

    @contextmanager
    def for_one(self) -> Iterator[None]:
        """While a socket is opened; raises PmError where too few are left for it."""
        with self._lock:
            if _low() + self._opening >= _FD_SETSIZE - _OPENED_MEANWHILE:
                raise PmError(-errno.EMFILE)
            self._opening += 1
        try:
            yield
        finally:
            with self._lock:
                self._opening -= 1


ROOM = Room()


def _low() -> int:
    """How many descriptors are open of those that the library can use."""
    try:
        return sum(int(one.name) < _FD_SETSIZE for one in _OPEN.iterdir())
    except OSError as error:
        raise PmError(-(error.errno or errno.EMFILE)) from error
