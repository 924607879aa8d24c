"""Entity tags: unchanged content is not sent again (RFC 9110, 13.1.2).

A tag is a digest of the content, so a client can never keep an older one by mistake.
"""

import hashlib
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The digest of a longer answer would delay others.
_MAX_BYTES = 4 * 1024 * 1024


def tag_of(body: bytes) -> str:
    """Return the tag of some content, which is the same if it is compressed."""
    return f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'


def is_known(headers: Mapping[str, str], tag: str) -> bool:
    """Whether the client that sent these headers already has the tagged content."""
    given = [one.strip() for one in headers.get("if-none-match", "").split(",")]
    return "*" in given or not {tag, tag.removeprefix("W/")}.isdisjoint(given)


class ConditionalGet:
    """Tags complete answers to GET, and answers 304 if the client has the content.

    Clients may keep such an answer, but must ask each time whether it changed. Streams
    and what may not be stored are sent unchanged.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        start: Message | None = None

        async def send_tagged(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _may_have_tag(message):
                start = message
                return
            if start is None:
                await send(message)
                return
            first, start = start, None
            if not message.get("more_body"):
                first, message = _tagged(scope, first, message)
            await send(first)
            await send(message)

        await self._app(scope, receive, send_tagged)


def _may_have_tag(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    length = headers.get("content-length", "")
    return (
        start["status"] == 200
        and length.isdecimal()
        and int(length) <= _MAX_BYTES
        and "etag" not in headers
        and "no-store" not in headers.get("cache-control", "")
    )


def _tagged(scope: Scope, start: Message, body: Message) -> tuple[Message, Message]:
    tag, headers = tag_of(body["body"]), MutableHeaders(raw=start["headers"])
    headers["ETag"] = tag
    headers.setdefault("Cache-Control", "no-cache")
    if not is_known(Headers(scope=scope), tag):
        return {**start, "headers": headers.raw}, body
    del headers["Content-Length"]
    return {**start, "status": 304, "headers": headers.raw}, {**body, "body": b""}
