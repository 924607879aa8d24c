"""Browser tests and changes of this machine's network wait for each other.

When an address appears or disappears, on any interface, Chromium aborts everything
that it is loading: ERR_NETWORK_CHANGED.
"""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOCK = Path(tempfile.gettempdir(), f"supertwin-tests-{os.getuid()}.network")
# Seconds until browsers have noticed a change.
_HEARD = 0.2


@contextmanager
def still_network() -> Iterator[None]:
    """Keep other tests from changing the network."""
    with _held(fcntl.LOCK_SH):
        yield


@contextmanager
def changing_network() -> Iterator[None]:
    """Keep browser tests from running; do not use this within still_network."""
    with _held(fcntl.LOCK_EX):
        yield
        time.sleep(_HEARD)


@contextmanager
def _held(kind: int) -> Iterator[None]:
    with _LOCK.open("ab") as file:
        fcntl.flock(file, kind)
        yield
