"""Requests over HTTP/1.1, one after another on a connection: httptools over a socket.

Commands use it, because httpx takes a quarter of a second of CPU to import and to ask.
"""

import select
import socket
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

if TYPE_CHECKING:
    from ssl import SSLContext

_PIECE = 1 << 16
_PORTS = {"http": 80, "https": 443}
# What stands in a path as it is, beside letters and digits.
_IN_PATH = "/%:@!$&'()*+,;=~"
# Headers that tell where a body ends.
_LENGTHS = (b"content-length", b"transfer-encoding")
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})

FORM = "application/x-www-form-urlencoded"

# What a request raises when its answer breaks off, or is none.
BROKEN = (OSError, HttpParserError, HttpParserUpgrade)


@dataclass(frozen=True)
class Response:
    """A whole answer."""

    status: int
    reason: str
    content_type: str
    content: bytes

    @property
    def is_success(self) -> bool:
        """Whether the server did what it was asked for."""
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        """Its body as text."""
        return self.content.decode("utf-8", "replace")


class NoConnectionError(OSError):
    """Nobody listens at an address, or it is none."""


class HttpConnection:
    """A way to a server, open from the first request on; for one thread at a time.

    ``authorization`` is the value of that header; without one the account that stands
    in the address is told. Connecting takes ``connect_s`` at most.
    """

    def __init__(
        self, url: str, authorization: str = "", connect_s: float = 60.0
    ) -> None:
        self.url, self._connect_s = url.rstrip("/"), connect_s
        self._authorization = authorization
        self._socket: socket.socket | None = None
        self._answer: Answer | None = None

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] = _NO_HEADERS,
        seconds: float | None = None,
    ) -> "Answer":
        """An answer whose status is known, to be read before anything else is asked.

        ``seconds`` is how long each of its pieces is waited for; None: for ever. Raises
        NoConnectionError, TimeoutError and the others of BROKEN.
        """
        if not self._is_free():
            self.close()
        self._socket = self._socket or self._opened()
        self._socket.settimeout(seconds)
        self._answer = None
        self._socket.sendall(self._head(method, path, len(body), headers) + body)
        self._answer = Answer(self._socket)
        return self._answer

    def close(self) -> None:
        """Hang up."""
        if self._socket:
            self._socket.close()
        self._socket = None

    def _is_free(self) -> bool:
        """Whether the last answer is over, and the server has not hung up since."""
        if not (self._socket and self._answer and self._answer.leaves_it_free):
            return False
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def _opened(self) -> socket.socket:
        try:
            parts = urlsplit(self.url)
            host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme)
            if not host or not port:
                raise ValueError("the address is not http://HOST or https://HOST")
            opened = socket.create_connection((host, port), self._connect_s)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if parts.scheme == "https":
                return _trusted().wrap_socket(opened, server_hostname=host)
            return opened
        except TimeoutError:
            raise
        except (OSError, ValueError) as error:
            raise NoConnectionError(str(error)) from error

    def _head(
        self, method: str, path: str, length: int, headers: Mapping[str, str]
    ) -> bytes:
        parts = urlsplit(self.url)
        asks = self._authorization or basic(account_in(self.url))
        given = {"Authorization": asks} if asks else {}
        lines = (
            f"{method} {quote(parts.path, _IN_PATH)}{path} HTTP/1.1",
            f"Host: {parts.netloc.rpartition('@')[2]}",
            f"Content-Length: {length}",
            *(f"{name}: {value}" for name, value in {**given, **headers}.items()),
        )
        return "\r\n".join((*lines, "", "")).encode()


class Answer:
    """An answer as it comes; httptools calls what begins with ``on_``.

    Raises what `HttpConnection.request` does where it breaks off or is none.
    """

    def __init__(self, source: socket.socket) -> None:
        self.status, self.reason, self.content_type = 0, "", ""
        self._socket, self._parser = source, HttpResponseParser(self)
        self._body: list[bytes] = []
        self._is_whole = self._tells_its_length = self._keeps_alive = False
        while not self.status:
            self._receive()

    @property
    def leaves_it_free(self) -> bool:
        """Whether another request may follow it on its connection."""
        return self._is_whole and self._keeps_alive

    def on_status(self, reason: bytes) -> None:
        """Take the words of the status."""
        self.reason += reason.decode("utf-8", "replace")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        if name.lower() == b"content-type":
            self.content_type = value.decode("utf-8", "replace")
        self._tells_its_length |= name.lower() in _LENGTHS

    def on_headers_complete(self) -> None:
        """Take the status."""
        self.status = self._parser.get_status_code()
        self._keeps_alive = self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        """Take a piece."""
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Take it for whole."""
        self._is_whole = True

    def pieces(self) -> Iterator[bytes]:
        """Its body, as it comes in."""
        while True:
            yield from self._body
            self._body.clear()
            if self._is_whole:
                return
            self._receive()

    def lines(self) -> Iterator[bytes]:
        """The lines of its body, as they come in."""
        rest = b""
        for piece in self.pieces():
            *lines, rest = (rest + piece).split(b"\n")
            yield from lines
        yield rest

    def whole(self, body: bytes) -> Response:
        """The answer with all its pieces."""
        return Response(self.status, self.reason, self.content_type, body)

    def _receive(self) -> None:
        piece = self._socket.recv(_PIECE)
        if piece:
            self._parser.feed_data(piece)
        elif self.status and not self._tells_its_length:
            self._is_whole = True
        else:
            raise ConnectionError("it hung up")


class HttpPool:
    """Connections to one server, as many as threads have requests under way."""

    def __init__(self, connect: Callable[[], HttpConnection]) -> None:
        self._connect = connect
        self._idle: deque[HttpConnection] = deque()

    @contextmanager
    def connection(self) -> Iterator[HttpConnection]:
        """One that nobody else uses meanwhile; closed where the block fails."""
        try:
            one = self._idle.pop()
        except IndexError:
            one = self._connect()
        try:
            yield one
        except BaseException:
            one.close()
            raise
        self._idle.append(one)

    def close(self) -> None:
        """Close those that are idle."""
        while self._idle:
            self._idle.pop().close()


def basic(account: tuple[str, str] | None) -> str:
    """The header that says who asks, by user and password; empty without an account."""
    if account is None:
        return ""
    return f"Basic {b64encode(':'.join(account).encode()).decode()}"


def account_in(url: str) -> tuple[str, str] | None:
    """The account that stands in an address; None without one."""
    user, _, password = urlsplit(url).netloc.rpartition("@")[0].partition(":")
    return (unquote(user), unquote(password)) if user else None


@cache
def _trusted() -> "SSLContext":
    """The authorities that a server's name is proved by; reading them takes 15 ms."""
    import httpx  # which no address without encryption needs

    return httpx.create_ssl_context(trust_env=False)
