"""Starts the runner on this machine, and reads what a runner says anywhere.

The runner is sent through its standard input, which then stays open: whoever lets go of
the other end, and be it a network that broke, ends the run. Nothing is imported that
takes long, the runner neither.
"""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Protocol

from observations.errors import LaunchError
from observations.orphan_reaper import end_orphans
from observations.program import beginning

Event = Mapping[str, Any]

PIECE = 1 << 20
# The runner's words of the same names: the end of its input cancels the run; the
# number of what the command reads.
HELD, INPUT = "held", "input="
# Reads how the program will begin, and does that while nobody waits; then the program,
# of which the rest is left to do. Each is told after how long it is.
START = (
    "import sys, base64, ctypes, hashlib, json, pathlib, select, shutil, subprocess; "
    "_part = lambda: sys.stdin.buffer.read(int(sys.stdin.buffer.readline() or 0)); "
    "_begin = _part(); exec(_begin); _all = _part(); "
    "exec(_all[len(_begin) :] if _all.startswith(_begin) else _all)"
)
_COMPLAINT_BYTES = 4096
_LAST_SECONDS = 10.0


class Running(Protocol):
    """A runner at work."""

    def read(self) -> bytes:
        """What it said since, at least a byte; nothing when it has ended."""

    def let_go(self) -> None:
        """What is over was looked at and need not be kept any more."""

    def cancel(self) -> None:
        """Have the command ended; the runner goes on to say how that went."""

    def complaint(self) -> str:
        """The last line that went wrong, once it has ended; empty where none did."""


def events(running: Running, uid: int | None = None) -> Iterator[Event]:
    """What a runner says, until it has said how the command ended.

    ``uid`` is the user that it runs as, where that is another than ours. Raises
    LaunchError where it ends without, as when its host goes away; nothing of the
    command runs on here then.
    """
    rest = b""
    started: Event = {}
    last: Event = {}
    while piece := running.read():
        *lines, rest = (rest + piece).split(b"\n")
        for event in filter(None, map(_event, lines)):
            started = event if event["event"] == "started" else started
            last = event if "pids" in event else last
            yield event
            if event["event"] in ("ended", "refused"):
                return
    if started:
        end_orphans(started, last, uid)
    complaint = running.complaint()
    why = f": {complaint}" if complaint else ""
    raise LaunchError(f"the run broke off before its command had ended{why}")


def _event(line: bytes) -> Event | None:
    """A line of the runner's; None for what a login says of itself."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "event" in found else None


class _Here:
    """A runner on this machine."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin  # noqa: S101
        assert process.stdout  # noqa: S101
        assert process.stderr  # noqa: S101
        self._in = process.stdin
        self._out, self._err = process.stdout, process.stderr

    def read(self) -> bytes:
        """What it said since."""
        return os.read(self._out.fileno(), PIECE)

    def let_go(self) -> None:
        """What is over was looked at."""
        with suppress(OSError, ValueError):
            self._in.write(b"\n")
            self._in.flush()

    def cancel(self) -> None:
        """Have the command ended."""
        with suppress(BrokenPipeError):
            self._in.close()

    def complaint(self) -> str:
        """The last line on its standard error."""
        text = self._err.read()[-_COMPLAINT_BYTES:].decode(errors="replace")
        return last_line(text.split("\n"))


@contextmanager
def ahead(
    environment: Mapping[str, str],
    before: Sequence[str] = (),
    source: int | None = None,
) -> Iterator[Callable[[bytes], Running]]:
    """What starts a program on this machine, ready while there is none yet.

    It is ended, with its command, at the end. ``before`` are the words of what starts
    it in its place, as srun does. ``source`` is the descriptor that the command reads,
    above 2; without, it reads nothing.
    """
    given = [] if source is None else [f"{INPUT}{source}"]
    process = subprocess.Popen(  # noqa: S603
        [*before, sys.executable, "-I", "-S", "-c", START, HELD, *given],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        pass_fds=[] if source is None else [source],
        # An interrupt is ours to pass on.
        start_new_session=True,
    )
    assert process.stdout  # noqa: S101
    with suppress(OSError):  # more than a user may have
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PIECE)
    _say(process, sent(beginning()))
    with process:
        try:
            yield partial(_begun, process)
            # A job that is ended from outside counts as cancelled.
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LAST_SECONDS if before else 0)
        finally:
            process.terminate()


def _begun(process: subprocess.Popen[bytes], text: bytes) -> Running:
    _say(process, sent(text))
    return _Here(process)


def _say(process: subprocess.Popen[bytes], text: bytes) -> None:
    assert process.stdin  # noqa: S101
    with suppress(BrokenPipeError):
        process.stdin.write(text)
        process.stdin.flush()


def sent(text: bytes) -> bytes:
    """A part as START reads it, of which more may follow."""
    return b"%d\n%s" % (len(text), text)


def last_line(lines: Sequence[str]) -> str:
    """The last of some lines that is not blank."""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
