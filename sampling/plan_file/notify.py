"""Notifies a bridge, from another process, that its plans have changed.

A named pipe in the bridge's state folder needs no port, outlives both sides, and wakes
the bridge without polling. A notification that is not read is lost; the bridge then
reads the plan by itself some seconds later.
"""

import contextlib
import json
import logging
import os
import select
import time
from collections.abc import Set
from os.path import samestat
from pathlib import Path
from typing import NamedTuple

_LOG = logging.getLogger(__name__)

NOTIFY_FILE = "notify"
_MOST_BYTES = 65_536
# A notification longer than the first limit is sent without its name. If more bytes
# than the second wait in the pipe, all names are ignored: some may have been lost.
_LONGEST, _MOST_NAMED_BYTES = 1024, 2048


class PlanName(NamedTuple):
    """A plan of a host, by name."""

    host: str
    plan: str


def notify(state: Path, named: PlanName | None = None) -> bool:
    """Notify the bridge of a state folder; False if none listens.

    With ``named``, only this plan has changed.
    """
    path = state / NOTIFY_FILE
    try:
        if not path.is_fifo():
            return False
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        os.write(pipe, _line(named))
    except BlockingIOError:  # enough notifications wait in the pipe
        return True
    except OSError:
        return False
    finally:
        os.close(pipe)
    return True


class NotificationPipe:
    """The bridge's end of the pipe; if no pipe can be made, it only waits.

    A pipe that is deleted or replaced is made again at the next `wait`.
    """

    def __init__(self, state: Path) -> None:
        self._pipe: int | None = None
        self._path = state / NOTIFY_FILE
        self._failure: str | None = None
        self._open()

    def wait(self, seconds: float) -> Set[PlanName]:
        """Return when notified, or after ``seconds``; many notifications count as one.

        Returns the plans that have changed; empty if any plan may have.
        """
        if self._is_gone():
            self._open()
        if self._pipe is None:
            time.sleep(seconds)
        elif _has_input(self._pipe, seconds):
            with contextlib.suppress(BlockingIOError):
                return _named(os.read(self._pipe, _MOST_BYTES))
        return frozenset()

    def close(self) -> None:
        """Stop listening."""
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None

    def _is_gone(self) -> bool:
        """Whether the pipe that it reads is no longer the one in the folder."""
        try:
            found = self._path.stat()
        except OSError:
            return True
        return self._pipe is None or not samestat(found, os.fstat(self._pipe))

    def _open(self) -> None:
        """Make the pipe if it does not exist; any other file there stays as it is."""
        self.close()
        try:
            with contextlib.suppress(FileExistsError):
                os.mkfifo(self._path, 0o600)
            if self._path.is_fifo():
                # Open both ends, so that it never reads an end of file.
                self._pipe = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)
                self._failure = None
        except OSError as error:
            if str(error) != self._failure:
                _LOG.warning(
                    "%s: no notifications, so changed plans start some seconds later",
                    error,
                )
            self._failure = str(error)


def _has_input(pipe: int, seconds: float) -> bool:
    # With many open files, its descriptor may be too large for select().
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    return bool(poll.poll(1000 * seconds))


def _line(named: PlanName | None) -> bytes:
    line = json.dumps(named).encode() + b"\n" if named else b"\n"
    return line if len(line) <= _LONGEST else b"\n"


def _named(content: bytes) -> Set[PlanName]:
    """The plans that these notifications name; empty if one of them names none."""
    if len(content) > _MOST_NAMED_BYTES:
        return frozenset()
    try:
        return {_read(line) for line in content.splitlines()}
    except (ValueError, TypeError):
        return frozenset()


def _read(line: bytes) -> PlanName:
    """Parse a notification; raises ValueError and TypeError if it names no plan."""
    host, plan = json.loads(line)
    if not (isinstance(host, str) and isinstance(plan, str)):
        raise TypeError(line)
    return PlanName(host, plan)
