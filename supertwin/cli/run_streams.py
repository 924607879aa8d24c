"""The streams of an observed command, and what a user of `observe` is told.

The command reads our standard input where it can be passed on. Where it cannot, input
that holds data is refused: the command would silently compute on empty input.
"""

import base64
import os
import select
import signal
import socket
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from typing import Any, Protocol

import click

from observations.launch import RunnerEvent

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STOP = signal.SIGTSTP
_LOOK_SECONDS = 0.5
_PIECE = 1 << 20
_NEVER_WAITING = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC
_REFUSED = 2
_TABLES = ("pop", "hotLoops", "profile", "regions")
_NOTHING = os.makedev(1, 3)  # /dev/null
_NOT_PASSED_ON = (
    "standard input is not passed on with --host or --srun: have the command read a "
    "file, or add < /dev/null"
)
_READ_ONCE = (
    "--repeat and --passes read standard input for each run, which a pipe does not "
    "allow: "
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


class OutputEnd(Protocol):
    """What takes the output of a command."""

    def show(self, event: RunnerEvent) -> bool:
        """Take an event's output, if it has some; return False if nobody reads it."""

    def cut(self) -> None:
        """Stop waiting for readers."""


class CommandOutput:
    """Writes a command's output where it would go without us.

    After `cut` it no longer waits for blocked readers.
    """

    def __init__(self) -> None:
        self._is_cut = self._is_given_up = False
        self._ends = {number: _end(number) for number in (1, 2)}

    def show(self, event: RunnerEvent) -> bool:
        """Write an event's output; return False if its reader has gone."""
        if event["event"] != "output" or self._is_given_up:
            return True
        data = memoryview(base64.b64decode(event["data"]))
        try:
            self._write(1 if event["stream"] == "stdout" else 2, data)
        except OSError:
            return False
        return True

    def cut(self) -> None:
        """Stop waiting for readers."""
        self._is_cut = True

    def _write(self, number: int, data: memoryview) -> None:
        end, most = self._ends[number]
        while data and not self._is_given_up:
            if not select.select([], [end], [], _LOOK_SECONDS)[1]:
                self._is_given_up = self._is_cut
                continue
            with suppress(BlockingIOError):
                data = data[os.write(end, data[:most]) :]


def _end(number: int) -> tuple[int, int]:
    """A descriptor for writing without blocking, and the most to write at once."""
    with suppress(OSError):
        mode = os.fstat(number).st_mode
        if stat.S_ISREG(mode):
            return number, _PIECE
        if stat.S_ISFIFO(mode):  # opened again: the flag must not affect other writers
            return os.open(f"/proc/self/fd/{number}", _NEVER_WAITING), _PIECE
    return number, select.PIPE_BUF


class RunMessages:
    """Reports each run when it has ended, and each note and problem once."""

    def __init__(self) -> None:
        self._printed = 0
        self._printed_lines: set[str] = set()

    def print_new(self, answer: Mapping[str, Any]) -> None:
        """Print the parts of an answer that were not printed before."""
        runs = answer["runs"]
        for run in runs[self._printed :]:
            say(f"{run['outcome']} after {run['seconds']:.3f} s: {run['node']}")
            if run["left"]:
                left = ", ".join(run["left"])
                say(f"it left {left} behind, which was ended")
            for line in chain.from_iterable(run[name] for name in _TABLES):
                say(line)
        self._printed = len(runs)
        problem = answer["problem"]
        if problem:
            problem = f"{problem} [{answer['errorCode']}]"
        for line in (*answer["notes"], problem):
            if line and line not in self._printed_lines:
                say(line)
                self._printed_lines.add(line)


@contextmanager
def interruptible(cancel: Callable[[], object]) -> Iterator[None]:
    """Let signals that would end us end the command; we then report the outcome.

    A stop signal only prints a message: if we stopped, the run could not be reported.
    """
    before = {number: signal.getsignal(number) for number in (*_ENDINGS, _STOP)}
    for number in _ENDINGS:
        signal.signal(number, lambda *_: cancel())
    signal.signal(_STOP, _go_on)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _go_on(*_: object) -> None:
    with suppress(OSError):  # not with `say`, which may be interrupted in the middle
        os.write(
            2, b"supertwin: a run cannot be suspended, it continues; Ctrl-C ends it\n"
        )


def status_of(event: RunnerEvent, status: int) -> int:
    """The exit status of a run that ended, else the given status."""
    if event["event"] == "refused":
        return _REFUSED
    if event["event"] != "ended":
        return status
    return int(event["exit"] if event["exit"] is not None else 128 + event["signal"])


def say(line: str) -> None:
    """Print a message of our own to standard error."""
    click.echo(f"supertwin: {line}", err=True)
