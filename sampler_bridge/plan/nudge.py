"""Tells a bridge, from another process, to read its plan again at once.

A named pipe in the bridge's state folder: it needs no port, outlives both sides, and
wakes the bridge without any polling. A nudge that nobody reads is lost, which costs no
more than the seconds until the bridge reads by itself.
"""

import contextlib
import logging
import os
import select
import time
from pathlib import Path

_LOG = logging.getLogger(__name__)

NUDGE_FILE = "nudge"
_MOST_BYTES = 65_536


def nudge(state: Path) -> bool:
    """Nudge the bridge of a state folder; False where none listens."""
    path = state / NUDGE_FILE
    try:
        if not path.is_fifo():
            return False
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        os.write(pipe, b"\n")
    except BlockingIOError:  # it has been nudged often enough
        return True
    except OSError:
        return False
    finally:
        os.close(pipe)
    return True


class Nudges:
    """The bridge's end; without a pipe, where none can be made, it only waits."""

    def __init__(self, state: Path) -> None:
        self._pipe: int | None = None
        path = state / NUDGE_FILE
        try:
            with contextlib.suppress(FileExistsError):
                os.mkfifo(path, 0o600)
            if path.is_fifo():
                # Both ends, so that it never reads an end of file.
                self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        except OSError as error:
            _LOG.warning("%s: no nudges, plans are read less soon", error)

    def wait(self, seconds: float) -> None:
        """Return when nudged, or after so many seconds; many nudges are one."""
        if self._pipe is None:
            time.sleep(seconds)
        elif select.select([self._pipe], [], [], seconds)[0]:
            with contextlib.suppress(BlockingIOError):
                os.read(self._pipe, _MOST_BYTES)

    def close(self) -> None:
        """Listen no more."""
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
