"""Requests over HTTP/1.1, one after another on a connection of the standard library.

Commands use it, because httpx takes a quarter of a second of CPU to import and to ask.
"""

import select
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
)
from socket import IPPROTO_TCP, TCP_CORK
from ssl import SSLContext
from types import MappingProxyType
from urllib.parse import quote, unquote, urlsplit

_PIECE = 1 << 16
# Characters of a target that are not escaped, in addition to letters and digits.
_IN_TARGET = "/?%:@!$&'()*+,;=~"
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})

FORM = "application/x-www-form-urlencoded"

# What a request raises when its answer breaks off, or is none.
BROKEN = (OSError, HTTPException)


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
        self._connection: HTTPConnection | None = None
        self._answer: HTTPResponse | None = None

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] = _NO_HEADERS,
        seconds: float | None = None,
    ) -> HTTPResponse:
        """An answer whose status is known, to be read before anything else is asked.

        ``seconds`` is how long each of its pieces is waited for; None: for ever. Raises
        NoConnectionError, TimeoutError and the others of BROKEN.
        """
        if not self._is_free():
            self.close()
        connection = self._connection = self._connection or self._opened()
        self._answer = None
        connection.sock.settimeout(seconds)
        target = quote(urlsplit(self.url).path + path, _IN_TARGET)
        # Head and body are one packet.
        connection.sock.setsockopt(IPPROTO_TCP, TCP_CORK, 1)
        connection.request(method, target, body, {**self._account(), **headers})
        connection.sock.setsockopt(IPPROTO_TCP, TCP_CORK, 0)
        self._answer = connection.getresponse()
        return self._answer

    def close(self) -> None:
        """Hang up."""
        for one in (self._answer, self._connection):
            if one:
                one.close()
        self._answer = self._connection = None

    def _is_free(self) -> bool:
        """Whether the last answer is over, and the server has not hung up since."""
        answer, connection = self._answer, self._connection
        if not (answer and answer.isclosed() and connection and connection.sock):
            return False
        poll = select.poll()
        poll.register(connection.sock, select.POLLIN)
        return not poll.poll(0)

    def _opened(self) -> HTTPConnection:
        try:
            connection = self._made()
            connection.connect()
        except TimeoutError:
            raise
        except (OSError, ValueError, HTTPException) as error:
            raise NoConnectionError(str(error)) from error
        return connection

    def _made(self) -> HTTPConnection:
        parts, seconds = urlsplit(self.url), self._connect_s
        if parts.hostname and parts.scheme == "http":
            return HTTPConnection(parts.hostname, parts.port or 80, timeout=seconds)
        if parts.hostname and parts.scheme == "https":
            return HTTPSConnection(
                parts.hostname, parts.port or 443, timeout=seconds, context=_trusted()
            )
        raise ValueError("the address is not http://HOST or https://HOST")

    def _account(self) -> dict[str, str]:
        asks = self._authorization or basic(account_in(self.url))
        return {"Authorization": asks} if asks else {}


def pieces(answer: HTTPResponse) -> Iterator[bytes]:
    """A body, as it comes in; raises one of BROKEN where it breaks off."""
    while piece := answer.read1(_PIECE):
        yield piece
    if answer.length:  # which `read1` does not check, unlike `read`
        raise IncompleteRead(b"", answer.length)
    answer.close()


def lines(answer: HTTPResponse) -> Iterator[bytes]:
    """The lines of a body likewise; `readline` misses an end between two chunks."""
    rest = b""
    for piece in pieces(answer):
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    yield rest


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
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return (user, password) if user else None


@cache
def _trusted() -> SSLContext:
    """The authorities that a server's name is proved by; reading them takes 15 ms."""
    import httpx  # which no address without encryption needs

    return httpx.create_ssl_context(trust_env=False)
