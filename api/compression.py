"""Compresses answers with gzip or zstd, as ``Accept-Encoding`` allows (RFC 9110)."""

import zlib
from collections.abc import Callable
from io import RawIOBase
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.threads import computed

# Shorter answers fit into one packet anyway.
_MIN_BYTES = 1024
# Longer ones are compressed in a thread, so that they do not delay others.
_LARGE = 64 * 1024
_GZIP_LEVEL = 5
_GZIP = 31  # a window of 32 KiB, with gzip's header
_TYPES = ("text/", "application/json", "application/sparql", "application/n-triples")
_SUFFIXES = ("json", "xml")
_STREAM = "text/event-stream"
# From a part of a body, and whether it is the last, to compressed bytes.
Compress = Callable[[bytes, bool], bytes]


class Compression:
    """Compresses answers of text that clients may store; streams of events are not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        accepted = Headers(scope=scope).getlist("accept-encoding")
        answer = _Answer(choose(",".join(accepted)), send)
        await self._app(scope, receive, answer.send)


class _Answer:
    """One answer on its way: the start waits for the first part of the body."""

    def __init__(self, encoding: str, send: Send) -> None:
        self._encoding, self._send = encoding, send
        self._start: Message | None = None
        self._compress: Compress | None = None

    async def send(self, message: Message) -> None:
        """Send a message of the application, compressed if it should be."""
        if message["type"] == "http.response.start" and _is_text(message):
            self._start = _varied(message)
            return
        if message["type"] == "http.response.body":
            message = await self._part(message)
        await self._send(message)

    async def _part(self, message: Message) -> Message:
        """Return a part of the body to send; the start is sent before the first."""
        body, more = message.get("body", b""), message.get("more_body", False)
        start, self._start = self._start, None
        if start and self._encoding and (more or len(body) >= _MIN_BYTES):
            self._compress = await _compressor(self._encoding)
            start = _encoded(start, self._encoding)
        if self._compress:
            body = await _compressed(self._compress, body, last=not more)
        if start:
            if self._compress and not more:
                headers = MutableHeaders(raw=start["headers"])
                headers["Content-Length"] = str(len(body))
            await self._send(start)
        return {**message, "body": body}


def choose(accepted: str) -> str:
    """Return the encoding that a client prefers: zstd, gzip, or '' for none."""
    qualities: dict[str, float] = {}
    for part in accepted.lower().split(","):
        name, _, parameters = part.strip().partition(";")
        qualities[name.strip()] = _quality(parameters)
    others = qualities.get("*", 0.0)
    best = max(("zstd", "gzip"), key=lambda name: qualities.get(name, others))
    wanted = qualities.get(best, others)
    return best if wanted > 0 and wanted >= qualities.get("identity", 0.0) else ""


def _quality(parameters: str) -> float:
    for part in parameters.split(";"):
        name, _, value = part.strip().partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


def _is_text(start: Message) -> bool:
    """Whether it is worth to compress the content that an answer has, or would have."""
    headers = Headers(raw=start["headers"])
    media_type = headers.get("content-type", "").partition(";")[0]
    return (
        media_type != _STREAM
        and (media_type.startswith(_TYPES) or media_type.endswith(_SUFFIXES))
        and "content-encoding" not in headers
        and "no-store" not in headers.get("cache-control", "")
    )


def _varied(start: Message) -> Message:
    headers = MutableHeaders(raw=[*start["headers"]])
    headers.add_vary_header("Accept-Encoding")
    return {**start, "headers": headers.raw}


def _encoded(start: Message, encoding: str) -> Message:
    headers = MutableHeaders(raw=[*start["headers"]])
    headers["Content-Encoding"] = encoding
    del headers["Content-Length"]
    if "etag" in headers:
        headers["ETag"] = f"W/{headers['etag'].removeprefix('W/')}"
    return {**start, "headers": headers.raw}


async def _compressed(compress: Compress, body: bytes, *, last: bool) -> bytes:
    if len(body) > _LARGE:
        return await computed(compress, body, last)
    return compress(body, last)


async def _compressor(encoding: str) -> Compress:
    if encoding == "gzip":
        return _gzip()
    # In a thread, because the first one imports pyarrow.
    return await computed(_zstd)


def _gzip() -> Compress:
    stream = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP)

    def compress(part: bytes, last: bool) -> bytes:
        return stream.compress(part) + (stream.flush() if last else b"")

    return compress


def _zstd() -> Compress:
    """Compress with pyarrow, which is installed anyway; Python 3.14 brings zstd."""
    import pyarrow as pa

    sink = _Sink()
    stream = pa.CompressedOutputStream(pa.PythonFile(sink, "w"), "zstd")

    def compress(part: bytes, last: bool) -> bytes:
        stream.write(part)
        if last:
            stream.close()
        return sink.taken()

    return compress


class _Sink(RawIOBase):
    """Collects what is written until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        self._parts.append(bytes(part))
        return len(part)

    def taken(self) -> bytes:
        """Return what was written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)
