"""Names of instances, over a separate connection to PMCD that fetches nothing."""

import logging
from threading import Lock

from core.linux import pmapi

_LOG = logging.getLogger(__name__)


class NamesConnection:
    """Asks a PMCD for names, so that reading a sample does not wait for another fetch.

    The thread that fetches may close it at any time, without waiting for an answer. A
    request that is under way then, or that comes later for an earlier sample, is still
    answered.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._context: pmapi.Context | None = None
        self._asking = Lock()
        self._closed = False

    def ask(self, indom: int) -> dict[int, str]:
        """The names of a domain by number; empty if PMCD does not give them."""
        with self._asking:
            names = self._ask(indom)
        # A thread that closes meanwhile leaves the connection to this one, which has
        # released the lock by now.
        if self._closed:
            self._let_go()
        return names

    def close(self) -> None:
        """Release the connection, now or after the answer that is under way."""
        self._closed = True
        self._let_go()

    def _ask(self, indom: int) -> dict[int, str]:
        try:
            if self._context is None:
                self._context = pmapi.Context(self._address)
            return self._context.instances(indom)
        except pmapi.PmError as error:
            _LOG.debug("no names of instance domain %d: %s", indom, error)
            if error.is_timeout:
                self._forget()
            return {}

    def _let_go(self) -> None:
        if self._asking.acquire(blocking=False):
            try:
                self._forget()
            finally:
                self._asking.release()

    def _forget(self) -> None:
        context, self._context = self._context, None
        if context is not None:
            context.close()
