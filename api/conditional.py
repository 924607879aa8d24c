"""Entity tags: unchanged content is not sent again (RFC 9110, 13.1.2).

A tag is a digest of the content, so a client can never keep an older one by mistake.
"""

import hashlib
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The digest of a longer answer would delay others.
_MAX_BYTES = 4 * 1024 * 1024
_TAG = re.compile(r'"[^"]*"')


def tag_of(body: bytes) -> str:
    """Return the tag of some content."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def is_known(headers: Headers, tag: str) -> bool:
    """Whether the client that sent these headers already has the tagged content."""
    given = ",".join(headers.getlist("if-none-match"))
    return given.strip() == "*" or tag.removeprefix("W/") in _TAG.findall(given)


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
                first, message = _conditional(scope, first, message)
            await send(first)
            await send(message)

        await self._app(scope, receive, send_tagged)


def tagged(start: Message, body: Message) -> Message:
    """Return the start of a complete answer with the tag of its content."""
    headers = MutableHeaders(raw=[*start["headers"]])
    headers.setdefault("ETag", tag_of(body["body"]))
    headers.setdefault("Cache-Control", "no-cache")
    return {**start, "headers": headers.raw}


def _may_have_tag(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    if start["status"] != 200 or "no-store" in headers.get("cache-control", ""):
        return False
    length = headers.get("content-length", "")
    return "etag" in headers or (length.isdecimal() and int(length) <= _MAX_BYTES)


def _conditional(
    scope: Scope, start: Message, body: Message
) -> tuple[Message, Message]:
    """Return the messages of an answer, or those of 304."""
    start = tagged(start, body)
    headers = MutableHeaders(raw=start["headers"])
    if not is_known(Headers(scope=scope), headers["etag"]):
        return start, body
    del headers["Content-Length"]
    return {**start, "status": 304}, {**body, "body": b""}
