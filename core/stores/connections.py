"""HTTP connections to a store that survive cancelled requests.

In httpcore 1.0, cancelling a request at certain moments leaves its connection marked as
in use forever; once this has happened to all connections, the pool stops answering. So
each connection has its own pool, and if an answer was not read to the end, its
connection is closed together with the pool.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from importlib.util import find_spec

import httpx

from core.stores.http_connection import certificate_authorities

# httpcore tries to import it several times in each request, and Python looks for it in
# all folders each time.
if find_spec("sniffio") is None:
    sys.modules["sniffio"] = None  # type: ignore[assignment]

_CLOSING: set[asyncio.Task[None]] = set()


class Connections(httpx.AsyncBaseTransport):
    """A limited number of connections, kept for some seconds; further requests wait.

    ``busy`` is the number of connections with a request.
    """

    def __init__(self, most: int, keep_s: float) -> None:
        self._limits = httpx.Limits(max_connections=1, keepalive_expiry=keep_s)
        self._free = asyncio.Semaphore(most)
        self._idle: list[httpx.AsyncHTTPTransport] = []
        self.busy = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the answer to a request, its body still unread; raises PoolTimeout."""
        try:
            async with asyncio.timeout(request.extensions["timeout"]["pool"]):
                await self._free.acquire()
        except TimeoutError:
            raise httpx.PoolTimeout("none came free", request=request) from None
        self.busy += 1
        one = self._idle.pop() if self._idle else self._made()
        try:
            answer = await one.handle_async_request(request)
        except BaseException:
            self.drop(one)
            raise
        answer.stream = _Body(self, one, answer.stream)
        return answer

    def keep(self, one: httpx.AsyncHTTPTransport) -> None:
        """Return a connection to the idle ones."""
        self._idle.append(one)
        self._release()

    def drop(self, one: httpx.AsyncHTTPTransport) -> None:
        """Close a connection in its own task, as the caller may be cancelled."""
        task = asyncio.get_running_loop().create_task(one.aclose())
        _CLOSING.add(task)
        task.add_done_callback(_CLOSING.discard)
        self._release()

    async def aclose(self) -> None:
        """Close the idle connections."""
        while self._idle:
            await self._idle.pop().aclose()

    def _release(self) -> None:
        self.busy -= 1
        self._free.release()

    def _made(self) -> httpx.AsyncHTTPTransport:
        return httpx.AsyncHTTPTransport(
            verify=certificate_authorities(), trust_env=False, limits=self._limits
        )


class _Body(httpx.AsyncByteStream):
    """The body of an answer; its connection is kept if the body was read to its end."""

    def __init__(
        self,
        connections: Connections,
        one: httpx.AsyncHTTPTransport,
        stream: httpx.SyncByteStream | httpx.AsyncByteStream,
    ) -> None:
        assert isinstance(stream, httpx.AsyncByteStream)  # noqa: S101
        self._connections, self._one, self._stream = connections, one, stream
        self._whole = self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield chunk
        self._whole = True

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        if not self._whole:
            self._connections.drop(self._one)
            return
        try:
            await self._stream.aclose()
        except BaseException:
            self._connections.drop(self._one)
            raise
        self._connections.keep(self._one)
