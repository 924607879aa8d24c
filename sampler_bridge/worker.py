"""A part of the bridge that works in a thread of its own."""

from abc import ABC, abstractmethod
from threading import Thread


class Worker(ABC):
    """Works from `start` until it is stopped; the bridge watches that it is `alive`."""

    def __init__(self, name: str) -> None:
        self._thread = Thread(target=self._work, name=name, daemon=True)

    @property
    def alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @abstractmethod
    def _work(self) -> None:
        """What the thread does."""
