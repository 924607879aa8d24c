"""Limits the queries of clients that run at once, with equal turns for each client.

Queries of the API itself, of commands and of loading do not wait here, and always find
threads of Fuseki free: it has 20.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.stores.errors import NoFreeConnectionError

# So many queries at once, and of one client.
MOST, MOST_OF_ONE = 8, 4

Turn = asyncio.Future[None]


class QueryQueue:
    """The client with the fewest running queries is next; for one event loop.

    A query waits for up to ``wait_s`` seconds.
    """

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._running = Counter[str]()
        self._waiting: dict[Turn, str] = {}

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[None]:
        """Wait for the turn of a client's query; raises NoFreeConnectionError."""
        await self._wait(client)
        try:
            yield
        finally:
            self._end(client)

    async def _wait(self, client: str) -> None:
        turn: Turn = asyncio.get_running_loop().create_future()
        self._waiting[turn] = client
        self._admit()
        try:
            async with asyncio.timeout(self._wait_s):
                await turn
        except BaseException as error:
            if self._waiting.pop(turn, None) is None:
                self._end(client)
            if isinstance(error, TimeoutError):
                raise self._busy() from None
            raise

    def _admit(self) -> None:
        """Give turns to those who wait, until no place is free."""
        while self._running.total() < MOST:
            ready = [
                turn
                for turn, client in self._waiting.items()
                if self._running[client] < MOST_OF_ONE and not turn.done()
            ]
            if not ready:
                return
            turn = min(ready, key=lambda turn: self._running[self._waiting[turn]])
            self._running[self._waiting.pop(turn)] += 1
            turn.set_result(None)

    def _end(self, client: str) -> None:
        self._running[client] -= 1
        self._running += Counter()  # forget clients without a query
        self._admit()

    def _busy(self) -> NoFreeConnectionError:
        return NoFreeConnectionError(
            f"{MOST} queries run, or {MOST_OF_ONE} of yours, and none ended within "
            f"{self._wait_s:g} s; ask again"
        )
