"""A watcher of a live dashboard, and the messages for it."""

import asyncio
from collections import deque
from dataclasses import dataclass

# A client that lags this many messages behind gets fresh windows instead.
WAITING = 120


@dataclass(frozen=True)
class Tick:
    """The values of one step, as the body of its event."""

    time: int
    body: bytes


@dataclass(frozen=True)
class StoreProblem:
    """A store is unreachable."""

    detail: str


@dataclass(frozen=True)
class WindowsReset:
    """All panels must be redrawn; ``recovered``: after a problem."""

    recovered: bool = False


@dataclass(frozen=True)
class TwinChanged:
    """The twin has changed: the page shows the old one."""


@dataclass(frozen=True)
class StreamEnd:
    """The end of the stream."""


Message = Tick | StoreProblem | WindowsReset | TwinChanged | StreamEnd


class Watcher:
    """A client's stream, with its queued messages; ``is_over`` if it is to end."""

    def __init__(self, client: str = "") -> None:
        self.client = client
        self.is_over = False
        self._waiting: deque[Message] = deque()
        self._some = asyncio.Event()

    def tell(self, message: Message) -> None:
        """Queue a message; if the queue is full, replace it by fresh windows.

        The end of the stream replaces all other messages.
        """
        self.is_over = self.is_over or isinstance(message, StreamEnd)
        if self.is_over or len(self._waiting) >= WAITING:
            self._waiting.clear()
            message = StreamEnd() if self.is_over else WindowsReset()
        self._waiting.append(message)
        self._some.set()

    async def next(self, seconds: float) -> Message | None:
        """Return the next message, or None after a timeout."""
        try:
            async with asyncio.timeout(seconds):
                await self._some.wait()
        except TimeoutError:
            return None
        message = self._waiting.popleft()
        if not self._waiting:
            self._some.clear()
        return message
