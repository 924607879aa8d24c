"""Requests cancelled at any moment leave no connection open."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.stores.connections import Connections, NoneFreeError

MOMENTS = 80
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"


@asynccontextmanager
async def server() -> AsyncIterator[tuple[str, set[asyncio.StreamWriter]]]:
    """A server that answers in two pieces; its address, and its open connections."""
    opened: set[asyncio.StreamWriter] = set()

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        opened.add(writer)
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(ANSWER + b"so")
                await writer.drain()
                await asyncio.sleep(0)
                writer.write(b"me")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            opened.discard(writer)
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        host, port = listening.sockets[0].getsockname()
        yield f"http://{host}:{port}", opened
    # Lets the last connections notice that their clients left.
    await asyncio.sleep(0.1)


async def text(connections: Connections, url: str) -> bytes:
    async with connections.request("GET", url, wait_s=120) as answer:
        return await answer.read()


async def given_up(connections: Connections, url: str, moment: int, times: int) -> int:
    """Cancel a request after this many steps; 1 if it was complete by then."""
    task = asyncio.create_task(text(connections, url))
    for _ in range(moment):
        await asyncio.sleep(0)
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    found = await asyncio.gather(task, return_exceptions=True)
    return int(found == [b"some"])


@pytest.mark.parametrize("times", [1, 3])
def test_released_connection_is_reused(times: int) -> None:
    async def attack() -> int:
        async with server() as (url, _), Connections(most=1) as connections:
            done = 0
            for moment in range(MOMENTS):
                done += await given_up(connections, url, moment, times)
                assert await text(connections, url) == b"some"
            return done

    assert 0 < asyncio.run(attack()) < MOMENTS


def test_abandoned_connection_is_closed() -> None:
    async def attack() -> None:
        async with server() as (url, opened), Connections(most=8) as connections:
            moments = range(MOMENTS)
            await asyncio.gather(*(given_up(connections, url, n, 1) for n in moments))
            await few(opened)
            await asyncio.gather(*(text(connections, url) for _ in range(30)))
            await few(opened)

    async def few(opened: set[asyncio.StreamWriter]) -> None:
        """Wait until no more connections are open than allowed."""
        async with asyncio.timeout(120):
            while len(opened) > 8:
                await asyncio.sleep(0.01)

    asyncio.run(attack())


def test_request_beyond_the_limit_waits() -> None:
    async def ask() -> None:
        async with server() as (url, _), Connections(most=1) as connections:
            async with connections.request("GET", url):
                with pytest.raises(NoneFreeError):
                    async with connections.request("GET", url, wait_s=0.2):
                        pass
            assert await text(connections, url) == b"some"

    asyncio.run(ask())
