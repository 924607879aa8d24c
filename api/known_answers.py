"""Keeps answers that depend on the graph only, until the graph has another version."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.compression import choose
from api.conditional import tagged
from api.datasets.graph_version import GraphVersion
from core.stores.errors import EndpointError
from core.stores.scope import current_scope

MAX_BYTES = 16 * 1024 * 1024
# Larger answers are rare, and would displace many others.
_MAX_ANSWER = 512 * 1024
# Entries are small, so their number is limited as well.
_MAX_ANSWERS = 8_000
_SCOPE = "supertwin.depends_on"

Key = tuple[bytes, ...]


def depends_only_on(request: Request, version: str) -> None:
    """Note that an answer depends on this version of the twin's graph, and on no more.

    ``version`` is empty if it is unknown; then the answer is not kept.
    """
    noted: _Noted | None = request.scope.get(_SCOPE)
    if noted is not None:
        noted.version = version


@dataclass
class _Noted:
    version: str = ""


@dataclass(frozen=True)
class _Known:
    """An answer, and the version of the graph that it was made from."""

    version: str
    start: Message
    body: Message
    size: int


@dataclass
class _Recorder:
    """Passes an answer on, and records it if it is complete and short."""

    pass_on: Send
    messages: list[Message] = field(default_factory=list)
    size: int = 0

    async def send(self, message: Message) -> None:
        self.size += len(message.get("body", b""))
        if self.size <= _MAX_ANSWER:
            self.messages.append(message)
        await self.pass_on(message)


class KnownAnswers:
    """Sends an answer again while the graph has the version that it was made from.

    The version is read for each request, so no answer is older than the request.
    """

    def __init__(self, app: ASGIApp, version: GraphVersion) -> None:
        self._app, self._version = app, version
        self._known: OrderedDict[Key, _Known] = OrderedDict()
        self._size = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Answers differ by scope, and few callers have the same one.
        if scope["type"] != "http" or scope["method"] != "GET" or current_scope():
            await self._app(scope, receive, send)
            return
        key = _key(scope)
        known = self._known.get(key)
        if known and known.version == await self._now():
            self._known.move_to_end(key)
            # A copy, because what is outside adds headers.
            await send({**known.start, "headers": [*known.start["headers"]]})
            await send(known.body)
            return
        noted, recorder = _Noted(), _Recorder(send)
        await self._app({**scope, _SCOPE: noted}, receive, recorder.send)
        if noted.version:
            self._keep(key, noted.version, recorder.messages)

    async def _now(self) -> str:
        """Return the version of the graph; empty if it is unknown."""
        try:
            return await self._version.current()
        except EndpointError:
            return ""

    def _keep(self, key: Key, version: str, messages: Sequence[Message]) -> None:
        if len(messages) != 2 or messages[0]["status"] != 200:
            return
        start, body = messages
        if body.get("more_body"):
            return
        self._forget(key)
        size = len(body["body"]) + sum(map(len, key))
        self._known[key] = _Known(version, tagged(start, body), body, size)
        self._size += size
        while self._size > MAX_BYTES or len(self._known) > _MAX_ANSWERS:
            self._forget(next(iter(self._known)))

    def _forget(self, key: Key) -> None:
        known = self._known.pop(key, None)
        if known:
            self._size -= known.size


def _key(scope: Scope) -> Key:
    """Return all that an answer may depend on in addition to the graph."""
    headers = Headers(scope=scope)
    accept, encodings = (
        ",".join(headers.getlist(name)) for name in ("accept", "accept-encoding")
    )
    texts = (scope["path"], accept, choose(encodings))
    return (scope["query_string"], *(text.encode() for text in texts))
