"""Background work, in one queue for each host, so that a hanging host delays no other.

A host has a thread while it has work. These threads do not delay the exit of the
process.
"""

import logging
from collections import deque
from collections.abc import Callable
from threading import Condition, Thread

_LOG = logging.getLogger(__name__)


class HostQueues:
    """Runs the work of each host in order; methods may be called from any thread."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._waiting: dict[str, deque[Callable[[], None]]] = {}

    def submit(self, host: str, work: Callable[[], None]) -> None:
        """Add work to a host's queue; its exceptions are logged."""
        with self._changed:
            if host in self._waiting:
                self._waiting[host].append(work)
                return
            self._waiting[host] = deque((work,))
        name = f"recorder-{host}"
        Thread(target=self._work, args=(host,), name=name, daemon=True).start()

    def wait(self, seconds: float) -> list[str]:
        """Wait up to ``seconds`` for all work; return the hosts with work left."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, seconds)
            return sorted(self._waiting)

    def _work(self, host: str) -> None:
        while work := self._next(host):
            try:
                work()
            except Exception:
                _LOG.exception("background work for %s failed", host)

    def _next(self, host: str) -> Callable[[], None] | None:
        with self._changed:
            if self._waiting[host]:
                return self._waiting[host].popleft()
            del self._waiting[host]
            self._changed.notify_all()
            return None
