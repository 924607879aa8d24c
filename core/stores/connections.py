"""HTTP connections of the API to a store: asynchronous, kept alive, and limited."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Self
from urllib.parse import urlsplit

from aiohttp import (
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
)

from core.stores.http_connection import account_in, basic, certificate_authorities

CONNECT_S = 5.0
_BUFFER = 256 * 1024
_LONGEST_HEADER = 64 * 1024
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class NoneFreeError(Exception):
    """All connections were in use for too long."""


class Connections:
    """At most some connections, kept for some seconds; further requests wait.

    ``busy`` is the number of connections with a request, ``requests`` that of all
    requests so far. They belong to the event loop of the first request, until they are
    closed.
    """

    def __init__(
        self, account: tuple[str, str] | None = None, most: int = 16, keep_s: float = 20
    ) -> None:
        self._account, self._keep_s = account, keep_s
        self._free = asyncio.Semaphore(most)
        self._session: ClientSession | None = None
        self.busy = self.requests = 0

    @asynccontextmanager
    async def request(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
        *,
        wait_s: float = CONNECT_S,
        read_s: float | None = None,
    ) -> AsyncIterator[ClientResponse]:
        """Yield an answer with its body still unread.

        If it is not read to the end, its connection is closed. ``wait_s`` limits the
        wait for a free connection, ``read_s`` that for each piece of the answer. Raises
        NoneFreeError, aiohttp.ClientError and TimeoutError.
        """
        await self._acquire(wait_s)
        asks = basic(self._account or account_in(url))
        timeout = ClientTimeout(None, sock_connect=CONNECT_S, sock_read=read_s)
        ssl = certificate_authorities() if url.startswith("https:") else True
        self.busy += 1
        self.requests += 1
        try:
            async with self._opened().request(
                method,
                _without_account(url),
                data=body,
                headers={**headers, "Authorization": asks} if asks else headers,
                timeout=timeout,
                ssl=ssl,
                allow_redirects=False,
            ) as answer:
                yield answer
        finally:
            self.busy -= 1
            self._free.release()

    async def aclose(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session:
            await session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()

    async def _acquire(self, wait_s: float) -> None:
        try:
            async with asyncio.timeout(wait_s):
                await self._free.acquire()
        except TimeoutError:
            raise NoneFreeError from None

    def _opened(self) -> ClientSession:
        if self._session is None:
            self._session = ClientSession(
                connector=TCPConnector(limit=0, keepalive_timeout=self._keep_s),
                headers={"Accept-Encoding": "identity"},
                cookie_jar=DummyCookieJar(),
                auto_decompress=False,
                read_bufsize=_BUFFER,
                max_field_size=_LONGEST_HEADER,
            )
        return self._session


def _without_account(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
