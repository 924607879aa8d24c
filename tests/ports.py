"""Free ports for the tests' servers, which nothing takes before they listen.

A port that the kernel chooses can be gone a moment later: it takes such ports for
outgoing connections as well (``ip_local_port_range``, 32768 and up), and other test
processes ask it too. So each process has ports of its own, below that range.
"""

import socket
from collections.abc import Iterator
from functools import cache
from itertools import cycle

from core.linux.ports import try_bind

LOOPBACK = "127.0.0.1"
_FIRST, _LAST, _EACH = 12_000, 32_000, 500


def free_port() -> int:
    """A port that nothing listens on."""
    ours = _ours()
    for _ in range(_EACH):
        port = next(ours)
        if try_bind(LOOPBACK, port) is None:
            return port
    raise AssertionError(f"all {_EACH} ports of this process are taken")


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens on, each another."""
    return [free_port() for _ in range(count)]


@cache
def _ours() -> Iterator[int]:
    """The ports that are this process' own, over and over."""
    for first in range(_FIRST, _LAST, _EACH):
        mark = socket.socket(socket.AF_UNIX)
        try:
            # A name that ends with the process, and that no other has meanwhile.
            mark.bind(f"\0supertwin-tests-ports-{first}")
        except OSError:
            mark.close()
        else:
            _marks.append(mark)
            return cycle(range(first, first + _EACH))
    raise AssertionError("too many processes run tests at once")


_marks: list[socket.socket] = []
