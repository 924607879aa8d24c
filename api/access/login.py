"""The read-only account: with one set, almost everything asks for it.

The API never writes, so whoever reads it can do no more than that.
"""

import binascii
from base64 import b64decode
from secrets import compare_digest

from fastapi import Request
from starlette._utils import get_route_path
from starlette.types import ASGIApp, Receive, Scope, Send

from api.problems import ApiError, answer

# For health checks and readers of JSON-LD, which have no account: neither tells of
# the twin.
_OPEN = ("/health", "/context.jsonld")


class Login:
    """Lets nobody in without the account; without an account, everybody."""

    def __init__(self, app: ASGIApp, account: tuple[str, str] | None) -> None:
        self._app = app
        self._wanted = ":".join(account).encode() if account else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._may(Request(scope)):
            await answer(Request(scope), _login())(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _may(self, request: Request) -> bool:
        if self._wanted is None or get_route_path(request.scope) in _OPEN:
            return True
        return compare_digest(_sent(request), self._wanted)


def _sent(request: Request) -> bytes:
    """User and password as they were sent; nothing where they cannot be read."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return b""
    try:
        return b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _login() -> ApiError:
    return ApiError(
        401,
        "login",
        "An account is needed",
        "send the user and the password that SUPERTWIN_READER_USER and "
        "SUPERTWIN_READER_PASSWORD set, by HTTP's Basic scheme",
        headers={"WWW-Authenticate": 'Basic realm="SuperTwin", charset="UTF-8"'},
    )
