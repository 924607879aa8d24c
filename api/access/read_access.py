"""Access to reads: if reads are not open, they need a token or the reader account.

A stream ends as soon as its client would not be admitted any more. The scope of the
token applies to all that the request asks of the stores, also where reading is open.
"""

from fastapi import Request
from starlette.datastructures import MutableHeaders, State
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.access.authenticator import Authenticator
from api.access.login import PATH as LOGIN
from api.access.login import login_page
from api.access.prefix import route_path
from api.access.tokens import TokenRole
from api.problems import answer
from core.errors import ApiError
from core.settings.settings import Settings
from core.stores.scope import limited_to

# Open for health checks, for readers of JSON-LD, which have no token, and for logging
# in; these do not reveal the twin.
_OPEN = ("/health", "/context.jsonld", "/ontology", LOGIN, "/logout")
_OPEN_BELOW = ("/static/", "/ontology/")
_STREAM = "text/event-stream"


class ReadAccess:
    """Refuses reads without a token or the account, unless reads are open."""

    def __init__(
        self, app: ASGIApp, authenticator: Authenticator, settings: Settings
    ) -> None:
        self._app, self._authenticator = app, authenticator
        self._base = settings.base

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        request.state.caller = None
        if self._is_open(scope):
            with limited_to(self._authenticator.scope_of(request), self._base):
                await self._serve(request.state, scope, receive, send)
            return
        try:
            request.state.caller = self._authenticator.admit(request, TokenRole.READER)
        except ApiError as error:
            refusal = login_page(request, error) or answer(request, error, drawn=True)
            await refusal(scope, receive, send)
            return
        with limited_to(request.state.caller.scope, self._base):
            await self._serve(request.state, scope, receive, _private(send))

    def _is_open(self, scope: Scope) -> bool:
        path = route_path(scope)
        return (
            self._authenticator.reads_are_open
            or path in _OPEN
            or path.startswith(_OPEN_BELOW)
        )

    async def _serve(
        self, state: State, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer a request; end a stream once its client would not be admitted.

        If reads are open, a route that requires a role sets the caller.
        """
        streams = False

        async def send_while_admitted(message: Message) -> None:
            nonlocal streams
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                streams = headers.get("content-type", "").startswith(_STREAM)
            elif (
                streams
                and state.caller
                and not self._authenticator.still_admits(state.caller)
            ):
                raise _NoLongerError
            await send(message)

        try:
            await self._app(scope, receive, send_while_admitted)
        except _NoLongerError:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _private(send: Send) -> Send:
    """Forbid shared caches to store an answer that required credentials."""

    async def send_private(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            given = headers.get("Cache-Control", "")
            if "no-store" not in given:
                headers["Cache-Control"] = ", ".join(filter(None, ("private", given)))
        await send(message)

    return send_private


class _NoLongerError(Exception):
    """The token of a stream was revoked or has expired."""
