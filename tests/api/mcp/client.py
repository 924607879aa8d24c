"""The official client of the Model Context Protocol."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2
from mcp import Client
from mcp.client._transport import Transport
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

T = TypeVar("T")
# Both generations of the protocol: with a handshake, and without.
MODES = ("legacy", "2026-07-28")


def session(
    url: str, work: Callable[[Client], Awaitable[T]], mode: str = "auto", **headers: str
) -> T:
    """Do some work with a client of `/mcp`."""

    async def run() -> T:
        async with httpx2.AsyncClient(
            headers=headers, timeout=120, trust_env=False
        ) as http:
            transport = streamable_http_client(f"{url}/mcp", http_client=http)
            return await _connected(transport, work, mode)

    return asyncio.run(run())


def local_session(
    transport: Transport, work: Callable[[Client], Awaitable[T]], mode: str = "auto"
) -> T:
    """Do some work with a client over another transport."""
    return asyncio.run(_connected(transport, work, mode))


def call(url: str, name: str, arguments: Any = None, **options: str) -> CallToolResult:
    """Call one tool."""
    return session(url, lambda c: c.call_tool(name, arguments or {}), **options)


def refused(work: Callable[[], Any]) -> MCPError:
    """Return the error that some work ends with."""
    try:
        work()
    except BaseExceptionGroup as errors:
        error: BaseException = errors
        while isinstance(error, BaseExceptionGroup):
            (error,) = error.exceptions
        assert isinstance(error, MCPError), repr(error)
        return error
    except MCPError as error:
        return error
    raise AssertionError("it was not refused")


async def _connected(
    transport: Transport, work: Callable[[Client], Awaitable[T]], mode: str
) -> T:
    async with Client(transport, mode=mode) as client:
        return await work(client)
