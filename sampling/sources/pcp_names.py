"""What instances are called, asked over a connection to PMCD that fetches nothing."""

import logging
from threading import Lock

from core.linux import pmapi

_LOG = logging.getLogger(__name__)


class NamesConnection:
    """Asks a PMCD for names, so that who reads a sample waits for no other fetch.

    Who fetches may close it at any time and waits for no answer: what is asked
    meanwhile, or afterwards for a sample that came before, is still answered.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._context: pmapi.Context | None = None
        self._asking = Lock()
        self._closed = False

    def ask(self, indom: int) -> dict[int, str]:
        """The names of a domain by number; none where PMCD does not tell."""
        with self._asking:
            names = self._ask(indom)
        # Whoever closes meanwhile leaves it to who asks, which has let go by now.
        if self._closed:
            self._let_go()
        return names

    def close(self) -> None:
        """Give the connection back, or let it be given back after the answer."""
        self._closed = True
        self._let_go()

    def _ask(self, indom: int) -> dict[int, str]:
        try:
            if self._context is None:
                self._context = pmapi.Context(self._address)
            return self._context.instances(indom)
        except pmapi.PmError as error:
            _LOG.debug("no names of instance domain %d: %s", indom, error)
            if error.is_silence:
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
