"""Runs the MCP SDK for `/mcp`; the SDK is imported at the first request."""

import asyncio
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, cast

import httpx
from anyio import to_thread
from fastapi import Request, Response
from starlette.types import Message, Scope

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

# Room for the longest SPARQL query, escaped as JSON.
MOST_BYTES = 2 * 1024 * 1024
# Headers that identify the caller, and the host name that the caller used.
_FORWARDED = ("authorization", "cookie", "host", "user-agent")


class McpService:
    """Answers requests of the protocol for one event loop.

    The SDK takes about half a second to import, so a process that gets no such request
    does without.
    """

    def __init__(self, base: str) -> None:
        self._base = base
        self._task: asyncio.Task[None] | None = None
        self._manager: asyncio.Future[StreamableHTTPSessionManager] | None = None

    async def answer(self, scope: Scope, body: bytes) -> Response:
        """Return what the SDK answers to a request with this body."""
        return await _answer(await self._started(), scope, body)

    async def aclose(self) -> None:
        """End the requests that are still being answered."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _started(self) -> "StreamableHTTPSessionManager":
        if self._manager is None or self._task is None or self._task.done():
            self._manager = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._run(self._manager))
        return await asyncio.shield(self._manager)

    async def _run(
        self, started: "asyncio.Future[StreamableHTTPSessionManager]"
    ) -> None:
        try:
            manager = await to_thread.run_sync(_make_manager, self._base)
            async with manager.run():
                started.set_result(manager)
                await asyncio.Event().wait()
        except Exception as error:
            if started.done():
                raise
            started.set_exception(error)


def _make_manager(base: str) -> "StreamableHTTPSessionManager":
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from api.mcp.server import make_server

    server = make_server(_own_client, base)
    return StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        max_request_body_size=MOST_BYTES,
    )


def _own_client(context: "ServerRequestContext[Any, Any]") -> httpx.AsyncClient:
    """Return a client that calls this application as the caller of a request would."""
    request = cast(Request, context.request)
    sent = request.headers
    headers = {name: sent[name] for name in _FORWARDED if name in sent}
    headers["Accept-Encoding"] = "identity"
    host, port = request.scope["server"]
    peer = (request.client.host, request.client.port) if request.client else ("", 0)
    transport = httpx.ASGITransport(
        request.app, raise_app_exceptions=False, client=peer
    )
    base = f"http://{host}:{port}"
    return httpx.AsyncClient(
        transport=transport, base_url=base, headers=headers, trust_env=False
    )


async def _answer(
    manager: "StreamableHTTPSessionManager", scope: Scope, body: bytes
) -> Response:
    asked = asyncio.Event()
    start: MutableMapping[str, Any] = {}
    content = bytearray()

    async def receive() -> Message:
        if asked.is_set():
            await asyncio.Event().wait()
        asked.set()
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        else:
            content.extend(message.get("body", b""))

    await manager.handle_request(scope, receive, send)
    answer = Response(bytes(content), start["status"])
    answer.raw_headers[:] = start.get("headers", [])
    return answer
