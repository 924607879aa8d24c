"""The lock of a state folder: two bridges in one folder would mix their logs."""

import fcntl
import logging
import os
from pathlib import Path

from sampler_bridge.errors import StateError

_LOG = logging.getLogger(__name__)

LOCK_FILE = "lock"


class StateLock:
    """Reserves a folder for this process; StateError if another bridge uses it.

    Another process may delete or replace the lock file; `renew` notices that.
    """

    def __init__(self, state: Path) -> None:
        self._state = state
        try:
            self._descriptor = _open(state)
        except OSError as error:
            raise StateError(
                f"state folder {state} cannot be used ({error.strerror}): fix it, or "
                "give another --state"
            ) from error
        self._take(self._descriptor)

    def renew(self) -> None:
        """Lock the file again if it was deleted or replaced.

        Raises StateError if another bridge has locked it meanwhile.
        """
        if self._is_in_place():
            return
        try:
            descriptor = _open(self._state)
        except OSError:  # tried again next time
            return
        self._take(descriptor)
        os.close(self._descriptor)
        self._descriptor = descriptor
        path = self._state / LOCK_FILE
        _LOG.warning("lock file %s was deleted or replaced: it is locked again", path)

    def release(self) -> None:
        """Release the folder for another bridge."""
        os.close(self._descriptor)

    def _is_in_place(self) -> bool:
        held = os.fstat(self._descriptor)
        try:
            return os.path.samestat((self._state / LOCK_FILE).stat(), held)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:  # unknown
            return True

    def _take(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise StateError(
                f"another bridge uses state folder {self._state}: stop that bridge, or "
                "give another --state"
            ) from error


def _open(state: Path) -> int:
    state.mkdir(parents=True, exist_ok=True)
    return os.open(state / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
