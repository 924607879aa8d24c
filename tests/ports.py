"""Free ports for the tests' servers, which stay free until the servers listen.

A port that the kernel chooses can be taken a moment later: the kernel also uses such
ports for outgoing connections (``ip_local_port_range``, 32768 and up), and other test
processes request them too. So each process has its own ports below that range.
"""

import socket
from collections.abc import Iterator
from functools import cache
from itertools import cycle

from core.linux.ports import try_bind

LOOPBACK = "127.0.0.1"
_FIRST, _LAST, _EACH = 12_000, 32_000, 500


def free_port() -> int:
    """Return a port that nothing listens on."""
    ours = _ours()
    for _ in range(_EACH):
        port = next(ours)
        if try_bind(LOOPBACK, port) is None:
            return port
    raise AssertionError(f"all {_EACH} ports of this process are taken")


def free_ports(count: int) -> list[int]:
    """Return different ports that nothing listens on."""
    return [free_port() for _ in range(count)]


@cache
def _ours() -> Iterator[int]:
    """Return the ports of this process, in an endless cycle."""
    for first in range(_FIRST, _LAST, _EACH):
        mark = socket.socket(socket.AF_UNIX)
        try:
            # The name is unique, and it is released when the process ends.
            mark.bind(f"\0supertwin-tests-ports-{first}")
        except OSError:
            mark.close()
        else:
            _marks.append(mark)
            return cycle(range(first, first + _EACH))
    raise AssertionError("too many processes run tests at once")


_marks: list[socket.socket] = []
