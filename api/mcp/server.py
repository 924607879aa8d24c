"""The server of the SDK, with our handlers."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, TypeAlias, TypeVar

import httpx
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from api.mcp.api_client import ApiResponseError
from api.mcp.resources import list_resources, list_templates, read_resource
from api.mcp.results import error_result
from api.mcp.tools import call_tool, list_tools
from api.version import supertwin_version

T = TypeVar("T")
Context: TypeAlias = ServerRequestContext[Any, Any]
# Gives a client of our HTTP API, with the access of the caller.
Connect: TypeAlias = Callable[[Context], AbstractAsyncContextManager[httpx.AsyncClient]]

_PAGE: Final = 500
_INSTRUCTIONS = """SuperTwin describes HPC machines as a graph: hosts, sockets, cores,
threads, caches, memory, devices, jobs, runs, and what is sampled. Each tool is a saved
query. Its answer has columns, rows with one value for each column (null if unbound),
the total number of rows, and whether rows are missing (truncated). max_rows limits
the rows. inventory_names lists the hosts, telemetry_sampled what is
sampled, and why_no-data why a value is missing. An error ends with its code in
brackets."""


def make_server(connect: Connect, base: str) -> Server[Any]:
    """Make the server; ``base`` begins the IRIs of instances."""
    handlers = _Handlers(connect, base.rstrip("/"))
    server: Server[Any] = Server(
        "supertwin",
        version=supertwin_version(),
        title="SuperTwin",
        description="A semantic digital twin of HPC machines",
        instructions=_INSTRUCTIONS,
        # No tool takes arguments from headers.
        get_tool_input_schema=lambda _: None,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )
    server.middleware.clear()  # OpenTelemetry traces; the API has none
    return server


class _Handlers:
    """Answers the requests of the protocol."""

    def __init__(self, connect: Connect, base: str) -> None:
        self._connect, self._base = connect, base

    async def list_tools(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        async with self._client(context) as client:
            found = await list_tools(client)
        page, cursor = _page(found, params)
        return ListToolsResult(tools=page, next_cursor=cursor)

    async def call_tool(
        self, context: Context, params: CallToolRequestParams
    ) -> CallToolResult:
        async with self._connect(context) as client:
            try:
                return await call_tool(client, params.name, params.arguments or {})
            except ApiResponseError as error:
                return error_result(error)

    async def list_resources(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        async with self._client(context) as client:
            found = await list_resources(client, self._base)
        page, cursor = _page(found, params)
        return ListResourcesResult(resources=page, next_cursor=cursor)

    async def list_templates(
        self, _context: Context, _params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        found = list_templates(self._base)
        return ListResourceTemplatesResult(resource_templates=found)

    async def read_resource(
        self, context: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        async with self._client(context) as client:
            content = await read_resource(client, self._base, params.uri)
        return ReadResourceResult(contents=[content])

    @asynccontextmanager
    async def _client(self, context: Context) -> AsyncIterator[httpx.AsyncClient]:
        """A client whose errors become errors of the protocol."""
        async with self._connect(context) as client:
            try:
                yield client
            except ApiResponseError as error:
                members = error.members()
                raise MCPError(INVALID_PARAMS, str(error), members) from None


def _page(
    found: list[T], params: PaginatedRequestParams | None
) -> tuple[list[T], str | None]:
    """Return a page of a list, and the cursor of the next one."""
    cursor = (params.cursor if params else None) or "0"
    if not cursor.isdecimal() or len(cursor) > 9:
        raise MCPError(INVALID_PARAMS, f"no such cursor: {cursor[:40]!r}")
    first, after = int(cursor), int(cursor) + _PAGE
    return found[first:after], str(after) if after < len(found) else None
