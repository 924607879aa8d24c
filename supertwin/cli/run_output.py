"""What a user of `observe` sees: the command's own output, and how runs ended."""

import base64
import os
import select
import signal
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import click

from observations.launch import Event

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STOP = signal.SIGTSTP
_LOOK_SECONDS = 0.5
_PIECE = 1 << 20
_NEVER_WAITING = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC
_REFUSED = 2


class Output:
    """Lets what a command prints go where it would go without us.

    `cut` gives up on readers that let us wait.
    """

    def __init__(self) -> None:
        self._is_cut = self._is_given_up = False
        self._ends = {number: _end(number) for number in (1, 2)}

    def show(self, event: Event) -> bool:
        """Write the output that an event tells of; False: nobody will ever read it."""
        if event["event"] != "output" or self._is_given_up:
            return True
        data = memoryview(base64.b64decode(event["data"]))
        try:
            self._write(1 if event["stream"] == "stdout" else 2, data)
        except OSError:
            return False
        return True

    def cut(self) -> None:
        """Wait no longer for who reads."""
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
    """Where what goes to a descriptor is written without waiting, and how much."""
    with suppress(OSError):
        mode = os.fstat(number).st_mode
        if stat.S_ISREG(mode):
            return number, _PIECE
        if stat.S_ISFIFO(mode):  # opened again: others have to wait as they did
            return os.open(f"/proc/self/fd/{number}", _NEVER_WAITING), _PIECE
    return number, select.PIPE_BUF


class Runs:
    """Reports each run once, when it is over, and each note and problem once."""

    def __init__(self) -> None:
        self._told = 0
        self._said: set[str] = set()

    def tell(self, answer: Mapping[str, Any]) -> None:
        """Print what an answer about an observation has that was not printed yet."""
        runs = answer["runs"]
        for run in runs[self._told :]:
            say(f"{run['outcome']} after {run['seconds']:.3f} s: {run['node']}")
            if run["left"]:
                left = ", ".join(run["left"])
                say(f"it left {left} behind, which was ended")
        self._told = len(runs)
        for line in (*answer["notes"], answer["problem"]):
            if line and line not in self._said:
                say(line)
                self._said.add(line)


@contextmanager
def interruptible(cancel: Callable[[], object]) -> Iterator[None]:
    """Have the command ended by what would end us; we go on to say how that went.

    What would stop us is told of and does nothing: nobody would hear of the run.
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
    with suppress(OSError):  # not by `say`, which may be at work
        os.write(2, b"supertwin: a run is not stopped, it goes on; Ctrl-C ends it\n")


def status_of(event: Event, status: int) -> int:
    """The status of a run that ended; else the one from before."""
    if event["event"] == "refused":
        return _REFUSED
    if event["event"] != "ended":
        return status
    return int(event["exit"] if event["exit"] is not None else 128 + event["signal"])


def say(line: str) -> None:
    """Say something beside what the command does."""
    click.echo(f"supertwin: {line}", err=True)
