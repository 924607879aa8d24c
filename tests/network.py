"""Browsers and changes of this machine's network wait for each other.

Where an address comes or goes, on whichever interface, Chromium gives up all that it
loads just then: ERR_NETWORK_CHANGED.
"""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOCK = Path(tempfile.gettempdir(), f"supertwin-tests-{os.getuid()}.network")
# Until a browser has heard of it.
_HEARD = 0.2


@contextmanager
def still_network() -> Iterator[None]:
    """No other test changes the network meanwhile."""
    with _held(fcntl.LOCK_SH):
        yield


@contextmanager
def changing_network() -> Iterator[None]:
    """No browser looks at a page meanwhile; not within still_network."""
    with _held(fcntl.LOCK_EX):
        yield
        time.sleep(_HEARD)


@contextmanager
def _held(kind: int) -> Iterator[None]:
    with _LOCK.open("ab") as file:
        fcntl.flock(file, kind)
        yield
