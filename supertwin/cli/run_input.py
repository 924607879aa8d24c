"""What a command of `observe` reads: our standard input, as far as it can be handed on.

Where it cannot, one that holds something is refused: the command would compute on
nothing, and nobody would know.
"""

import os
import select
import socket
import stat
import sys
from contextlib import suppress

import click

_NOTHING = os.makedev(1, 3)  # /dev/null
_FAR = (
    "standard input is not handed on with --host or --srun: have the command read a "
    "file, or add < /dev/null"
)
_ONCE = (
    "--repeat reads standard input again for each run, which a pipe does not allow: "
    "put it into a file (< FILE), or add < /dev/null"
)


class Input:
    """A descriptor for the command; ``number`` is None where it reads nothing."""

    def __init__(self, number: int | None) -> None:
        self.number = number
        self._begin = None if number is None else _position(number)

    def rewind(self) -> None:
        """Have the next run read what the first one read."""
        if self.number is not None and self._begin is not None:
            os.lseek(self.number, self._begin, os.SEEK_SET)


def handed_on(is_near: bool, repeat: int) -> Input:
    """What so many runs read; a terminal only in its foreground.

    ``is_near``: we start the command ourselves, on this machine. Raises UsageError.
    """
    if sys.stdin is None:  # closed: the number may be anything's by now
        return Input(None)
    if not is_near:
        if not os.isatty(0) and not _is_spent():
            raise click.UsageError(_FAR)
        return Input(None)
    if os.isatty(0) and not _in_foreground():
        return Input(None)
    if repeat > 1 and _flows() and not _is_spent():
        raise click.UsageError(_ONCE)
    return Input(os.dup(0))


def _position(number: int) -> int | None:
    with suppress(OSError):
        return os.lseek(number, 0, os.SEEK_CUR)
    return None


def _flows() -> bool:
    """Whether what was read once is gone, and no user types it again."""
    mode = os.fstat(0).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _is_spent() -> bool:
    """Whether nothing is to be read, now and later."""
    found = os.fstat(0)
    if stat.S_ISREG(found.st_mode):
        return found.st_size <= (_position(0) or 0)
    if stat.S_ISFIFO(found.st_mode):
        poll = select.poll()
        poll.register(0, select.POLLIN)
        return any(
            how & select.POLLHUP and not how & select.POLLIN for _, how in poll.poll(0)
        )
    if stat.S_ISSOCK(found.st_mode):
        with suppress(BlockingIOError), socket.socket(fileno=os.dup(0)) as end:
            return not end.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        return False
    return found.st_rdev == _NOTHING


def _in_foreground() -> bool:
    """Whether what is typed there is for us."""
    with suppress(OSError):
        return os.tcgetpgrp(0) == os.getpgrp()
    return False
