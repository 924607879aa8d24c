"""Limits the size of requests, and forbids browsers to guess media types."""

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.body import too_large, too_long
from api.problems import answer
from core.errors import ApiError

MAX_BYTES = 64 * 1024
# No route accepts a longer body.
MAX_BODY_BYTES = 16 * 1024 * 1024


class Headers:
    """Refuses requests that are too large, and sets ``nosniff`` on all answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_plain(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["X-Content-Type-Options"] = "nosniff"
            await send(message)

        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_BYTES:
            await answer(Request(scope), _too_large())(scope, receive, send_plain)
            return
        if too_long(Request(scope), MAX_BODY_BYTES):
            refusal = answer(Request(scope), too_large(MAX_BODY_BYTES, "body"))
            await refusal(scope, receive, send_plain)
            return
        await self._app(scope, receive, send_plain)


def _too_large() -> ApiError:
    detail = f"the headers of a request may have {MAX_BYTES} bytes; send shorter ones"
    return ApiError(431, "headers-too-large", "The headers are too large", detail)
