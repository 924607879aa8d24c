"""The standard input of an observed command: ours, where it can be passed on.

Where it cannot, standard input that holds data is refused: the command would silently
compute on empty input.
"""

import os
import select
import socket
import stat
from contextlib import suppress

import click

_NOTHING = os.makedev(1, 3)  # /dev/null
_NOT_PASSED_ON = (
    "standard input is not passed on with --host or --srun: have the command read a "
    "file, or add < /dev/null"
)
_READ_ONCE = (
    "--repeat reads standard input again for each run, which a pipe does not allow: "
    "put it into a file (< FILE), or add < /dev/null"
)


class CommandInput:
    """A descriptor for the command; ``number`` is None if it reads nothing."""

    def __init__(self, number: int | None) -> None:
        self.number = number
        self._start = None if number is None else _position(number)

    def rewind(self) -> None:
        """Rewind, so that the next run reads the same input as the first."""
        if self.number is not None and self._start is not None:
            os.lseek(self.number, self._start, os.SEEK_SET)


def command_input(is_child: bool, repeat: int) -> CommandInput:
    """The input of ``repeat`` runs; a terminal only if we are in its foreground.

    ``is_child``: this process starts the command itself. Raises UsageError.
    """
    if not is_child:
        if not os.isatty(0) and not _is_spent():
            raise click.UsageError(_NOT_PASSED_ON)
        return CommandInput(None)
    if os.isatty(0) and not _in_foreground():
        return CommandInput(None)
    if repeat > 1 and _is_stream() and not _is_spent():
        raise click.UsageError(_READ_ONCE)
    return CommandInput(os.dup(0))


def _position(number: int) -> int | None:
    with suppress(OSError):
        return os.lseek(number, 0, os.SEEK_CUR)
    return None


def _is_stream() -> bool:
    """Whether data can be read only once and is not typed by a user."""
    mode = os.fstat(0).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _is_spent() -> bool:
    """Whether there is nothing to read, now or later."""
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
    """Whether we are in the terminal's foreground process group."""
    with suppress(OSError):
        return os.tcgetpgrp(0) == os.getpgrp()
    return False
