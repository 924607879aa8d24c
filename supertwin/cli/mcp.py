"""`supertwin mcp`: the Model Context Protocol over standard input and output."""

import asyncio
import json
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import click
import httpx

from api.access.local_api import LocalApi, read_local_api
from core.errors import FileError, NotRunningError
from core.settings.settings import Settings
from supertwin.cli.api_client import ApiAnswerError, ApiUnavailableError
from supertwin.cli.parameters import NonEmptyPath

_CONNECT_S = 5.0
_Auth = Callable[[httpx.Request], httpx.Request]


@click.command()
@click.option("--url", metavar="URL", help="Address of another SuperTwin.")
@click.option(
    "--token-file",
    type=NonEmptyPath(dir_okay=False),
    help="File with a token.  [default: the key of this installation's owner]",
)
def mcp_command(url: str | None, token_file: Path | None) -> None:
    """Serve the saved queries to an assistant that starts this command.

    It speaks the Model Context Protocol on standard input and output until the input
    ends, and asks the HTTP interface of a running SuperTwin.
    """
    home = Settings().home
    address = url or _local(home).url
    auth: _Auth | None = None
    if token_file:
        auth = _bearer(partial(_token, token_file))
    elif url is None:
        # Each start of the API renews the key.
        auth = _bearer(lambda: _local(home).key)
    asyncio.run(_serve(address.rstrip("/"), auth))


def _bearer(token: Callable[[], str]) -> _Auth:
    """Send a token that is read again for each request."""

    def add(request: httpx.Request) -> httpx.Request:
        request.headers["Authorization"] = f"Bearer {token()}"
        return request

    return add


def _local(home: Path) -> LocalApi:
    local = read_local_api(home)
    if local is None:
        raise NotRunningError(
            f"no SuperTwin of yours runs in {home}: `make up` starts one, or name "
            "another with --url"
        )
    return local


def _token(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{file}: {error}") from None


async def _serve(address: str, auth: _Auth | None) -> None:
    # The SDK loads slowly, and other commands do not need it.
    from mcp.server.stdio import stdio_server

    from api.mcp.server import make_server

    timeout = httpx.Timeout(None, connect=_CONNECT_S)
    async with httpx.AsyncClient(
        base_url=address, auth=auth, timeout=timeout, trust_env=False
    ) as client:
        base = await _base(client)
        server = make_server(lambda _: nullcontext(client), base)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())


async def _base(client: httpx.AsyncClient) -> str:
    """Return the start of IRIs, and find out whether the access works."""
    from api.mcp.api_client import ApiResponseError, get

    try:
        answer = await get(client, "/queries", "application/json", {"limit": "1"})
        first, *_ = json.loads(answer.body)
        return str(first["url"]).partition("/queries/")[0]
    except ApiResponseError as error:
        kind = ApiAnswerError if 400 <= error.status < 500 else ApiUnavailableError
        raise kind(error.detail, code=error.code) from None
    except (ValueError, TypeError, KeyError):
        raise ApiUnavailableError(
            f"{client.base_url} does not answer as SuperTwin does: check --url"
        ) from None
