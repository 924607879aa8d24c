"""Clients take turns in running queries."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack

import pytest

from api.query_queue import MOST, MOST_OF_ONE, QueryQueue
from core.stores.errors import NoFreeConnectionError


class Queries:
    """Queries that run until they are told to end, in the order of their starts."""

    def __init__(self) -> None:
        self.queue = QueryQueue(wait_s=120)
        self.started: list[str] = []
        self._ends: list[asyncio.Event] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def send(self, client: str, number: int = 1) -> None:
        """Send queries, and let all that can start do so."""
        for _ in range(number):
            self.tasks.append(asyncio.create_task(self._run(client)))
        await self.settle()

    async def end(self, place: int) -> None:
        """End a query by its place in the order of the starts."""
        self._ends[place].set()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    async def _run(self, client: str) -> None:
        async with self.queue.turn(client):
            end = asyncio.Event()
            self.started.append(client)
            self._ends.append(end)
            await end.wait()

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def in_loop(steps: Callable[[Queries], Coroutine[None, None, None]]) -> None:
    async def run() -> None:
        queries = Queries()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(queries.stop)
            await steps(queries)

    asyncio.run(run())


def test_one_client_leaves_places_to_others() -> None:
    async def steps(queries: Queries) -> None:
        await queries.send("greedy", 3 * MOST)
        assert queries.started == ["greedy"] * MOST_OF_ONE
        await queries.send("other")
        assert queries.started[-1] == "other"

    in_loop(steps)


def test_client_with_fewest_running_queries_is_next() -> None:
    async def steps(queries: Queries) -> None:
        await queries.send("a", MOST_OF_ONE + 1)
        await queries.send("b", MOST - MOST_OF_ONE)
        await queries.send("late")
        assert len(queries.started) == MOST
        await queries.end(0)
        assert queries.started[MOST:] == ["late"]
        await queries.end(1)
        assert queries.started[MOST:] == ["late", "a"]

    in_loop(steps)


def test_cancelled_queries_free_their_places() -> None:
    async def steps(queries: Queries) -> None:
        await queries.send("a", 2 * MOST_OF_ONE)
        for task in queries.tasks[1:-1]:
            task.cancel()
        await queries.settle()
        assert queries.started == ["a"] * (MOST_OF_ONE + 1)
        await queries.stop()
        await queries.send("a", MOST_OF_ONE)
        assert len(queries.started) == 2 * MOST_OF_ONE + 1

    in_loop(steps)


def test_waiting_query_is_refused_in_the_end() -> None:
    async def steps(queries: Queries) -> None:
        queries.queue = QueryQueue(wait_s=0.05)
        await queries.send("a", MOST_OF_ONE)
        with pytest.raises(NoFreeConnectionError) as refused:
            async with queries.queue.turn("a"):
                pass
        assert refused.value.code == "busy"

    in_loop(steps)
