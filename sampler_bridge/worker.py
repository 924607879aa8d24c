"""A part of the bridge with its own thread."""

from abc import ABC, abstractmethod
from threading import Thread

from core.linux import priority
from sampler_bridge.errors import StateError


class Worker(ABC):
    """Works from `start` until it is stopped; the bridge checks that it is `alive`.

    It has the scheduling priority of the thread that starts it, at its own ``level``.
    """

    level = priority.OTHERS

    def __init__(self, name: str) -> None:
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._priority = priority.NORMAL
        self._has_begun = False

    @property
    def alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread.is_alive()

    @property
    def has_begun(self) -> bool:
        """Whether it was started, and runs or has ended."""
        return self._has_begun

    @property
    def has_died(self) -> bool:
        """Whether it was started and no longer runs."""
        # In this order: another thread may be starting it.
        return self.has_begun and not self.alive

    def start(self) -> None:
        """Start the thread; raises StateError if the system refuses one."""
        self._priority = priority.priority_of()
        try:
            self._thread.start()
        except RuntimeError as error:
            raise StateError(
                f"no thread for {self._thread.name} ({error}): allow more (ulimit -u, "
                "or TasksMax of the service) or sample fewer hosts"
            ) from error
        self._has_begun = True

    def _join(self, seconds: float) -> None:
        """Wait for its end, if it was started."""
        if self.has_begun:
            self._thread.join(seconds)

    def _run(self) -> None:
        # Threads do not inherit a raised priority.
        priority.take(self._priority, self.level)
        self._work()

    @abstractmethod
    def _work(self) -> None:
        """The work of the thread."""
