"""One who watches a live dashboard, and what there is to tell."""

import asyncio
from collections import deque
from dataclasses import dataclass

# Someone who reads this slowly gets fresh windows in place of what was missed.
WAITING = 120


@dataclass(frozen=True)
class Tick:
    """The values of one step, as the body of its event."""

    time: int
    body: bytes


@dataclass(frozen=True)
class Problem:
    """A store that is away."""

    detail: str


@dataclass(frozen=True)
class Windows:
    """Everything is to be drawn anew; ``recovered``: after a problem."""

    recovered: bool = False


@dataclass(frozen=True)
class Changed:
    """The twin is another one: the page shows what was."""


@dataclass(frozen=True)
class End:
    """Nothing more comes."""


Message = Tick | Problem | Windows | Changed | End


class Watcher:
    """A stream of a client, with the messages that wait for it."""

    def __init__(self, client: str = "") -> None:
        self.client = client
        self._waiting: deque[Message] = deque()
        self._some = asyncio.Event()

    def tell(self, message: Message) -> None:
        """Add a message; what was missed by then becomes fresh windows."""
        if len(self._waiting) >= WAITING:
            self._waiting.clear()
            message = message if isinstance(message, End) else Windows()
        self._waiting.append(message)
        self._some.set()

    async def next(self, seconds: float) -> Message | None:
        """The next message, or None when none came in time."""
        try:
            async with asyncio.timeout(seconds):
                await self._some.wait()
        except TimeoutError:
            return None
        message = self._waiting.popleft()
        if not self._waiting:
            self._some.clear()
        return message
