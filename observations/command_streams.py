"""Reads what a command writes and what its runner is told, and reports to SuperTwin.

This is a part of the runner's program, as `observations.recorder` is.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from typing import Any, Iterable, Protocol

# If HELD is among the arguments, the end of standard input cancels the run, and so does
# CANCEL on it. Any other line says that an ended command can be reaped.
HELD, CANCEL = "held", b"cancel"
# The number of the descriptor that the command reads. Without this argument it reads
# nothing if HELD is given, and otherwise our standard input.
INPUT = "input="
_PIECE = 1 << 18
# Formatted without json: the data may be large and needs no escaping.
_OUTPUT = b'{"event": "output", "stream": "%s", "data": "%s"}\n'
_STDIN = 0
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ, which Python 3.8 does not name
_ENDINGS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LAST_OUTPUT_SECONDS = 2.0


class PipeReader(Protocol):
    """Reads a pipe whenever it has data; there may be no pipe."""

    pipe: int | None

    def read(self) -> None:
        """Read what the command has written."""


class TruncatedStream:
    """The first and the last ``most`` bytes of a stream, and its size so far.

    The first bytes, or with ``show_all`` all bytes, are reported immediately.
    """

    def __init__(self, pipe: int, most: int, show_all: bool) -> None:
        self.pipe = pipe
        self.size = 0
        self.open = True
        self._most, self._show_all = most, show_all
        with suppress(OSError):  # the user's limit may be lower
            fcntl.fcntl(pipe, _SET_PIPE_SIZE, _PIECE)
        self._head, self._tail = bytearray(), bytearray()

    def read(self) -> bytes:
        """Read what is available; return the part to report immediately."""
        piece = os.read(self.pipe, _PIECE)
        self.open = bool(piece)
        self.size += len(piece)
        first = piece[: self._most - len(self._head)]
        self._head += first
        self._tail += piece[len(first) :]
        del self._tail[: -self._most or None]
        return piece if self._show_all else first

    def document(self) -> dict[str, Any]:
        """Return head and tail in base64; ``cut`` bytes between them were dropped."""
        return {
            "bytes": self.size,
            "head": base64.b64encode(self._head).decode(),
            "tail": base64.b64encode(self._tail).decode(),
            "cut": self.size - len(self._head) - len(self._tail),
        }


class CommandStreams:
    """All streams of a run, and whether one of them, or a signal, cancelled it.

    ``cancelled`` is the first reason, or empty. After ``is_over`` is set, nothing
    cancels the run. ``were_counters_read`` is set by a line on standard input.
    """

    def __init__(self, recordings: Iterable[PipeReader]) -> None:
        self.cancelled = ""
        self.is_over = self.were_counters_read = False
        self.is_held = HELD in sys.argv
        self._recordings = [*recordings]
        self._outputs: dict[str, TruncatedStream] = {}
        self._wake, write = os.pipe()
        for end in (self._wake, write):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(write)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in _ENDINGS:
            signal.signal(number, lambda n, _: self.cancel(signal.Signals(n).name))

    def add_outputs(self, pipes: dict[str, int], most: int, show_all: bool) -> None:
        """Read the output streams of the command, too; see `TruncatedStream`."""
        self._outputs = {
            name: TruncatedStream(pipe, most, show_all) for name, pipe in pipes.items()
        }

    @property
    def sizes(self) -> dict[str, int]:
        """The number of bytes that the command has written, by stream."""
        return {name: kept.size for name, kept in self._outputs.items()}

    def documents(self) -> dict[str, Any]:
        """Return what is kept of the output, by stream."""
        return {name: kept.document() for name, kept in self._outputs.items()}

    def say(self, event: str, **what: Any) -> None:
        """Report an event; if nobody reads it any more, cancel the command."""
        try:
            tell(event, **what)
        except OSError:
            self.cancel("its client has disconnected")

    def cancel(self, reason: str) -> None:
        """Mark the run as cancelled, unless the command is over."""
        if not self.is_over:
            self.cancelled = self.cancelled or reason

    def read(self, seconds: float) -> None:
        """Wait for output, a signal or the timeout; report what is due immediately."""
        outputs = {k.pipe: (name, k) for name, k in self._outputs.items() if k.open}
        recorded = {r.pipe: r for r in self._recordings if r.pipe is not None}
        held = [_STDIN] if self.is_held else []
        waited = [self._wake, *held, *outputs, *recorded]
        ready, _, _ = select.select(waited, [], [], max(seconds, 0.0))
        for pipe in ready:
            if pipe == _STDIN:
                self._read_commands()
            elif pipe in recorded:
                recorded[pipe].read()
            elif pipe == self._wake:
                with suppress(BlockingIOError):
                    os.read(self._wake, _PIECE)
            else:
                self._pass_on(*outputs[pipe])

    def read_remaining(self) -> None:
        """Read what is left once all processes have ended."""
        until = time.monotonic() + _LAST_OUTPUT_SECONDS
        while any(k.open for k in self._outputs.values()) and time.monotonic() < until:
            self.read(0.05)

    def _pass_on(self, name: str, stream: TruncatedStream) -> None:
        """Report new output of the command, unless it is being ended."""
        piece = stream.read()
        if piece and not self.cancelled:
            with suppress(OSError):
                _write(_OUTPUT % (name.encode(), base64.b64encode(piece)))

    def _read_commands(self) -> None:
        """Handle input: a line says that counters were read, EOF cancels the run."""
        received = b""
        with suppress(OSError):  # the connection failed
            received = os.read(_STDIN, _PIECE)
        if received and CANCEL not in received:
            self.were_counters_read = True
        else:
            self.is_held = False
            self.cancel("SuperTwin cancelled it or disconnected")


def tell(event: str, **what: Any) -> None:
    """Write an event; raises OSError if nobody reads it any more."""
    _write((json.dumps({"event": event, **what}) + "\n").encode())


def _write(line: bytes) -> None:
    rest = memoryview(line)
    while rest:  # a signal may cut a write short
        rest = rest[os.write(1, rest) :]
