"""HTTP/1.1 requests on kept-alive connections of the standard library.

Commands use it because importing httpx takes a quarter of a second of CPU.
"""

import select
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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

# What a request raises if its answer is incomplete or not HTTP.
BROKEN = (OSError, HTTPException)


class NoConnectionError(OSError):
    """Nothing listens at an address, or the address is not valid."""


class HttpConnection:
    """A connection to a server, opened by the first request; for one thread at a time.

    ``authorization`` is the value of that header; without one, the account in the
    address is sent. Connecting takes ``connect_s`` at most. ``opened`` counts how often
    it was opened.
    """

    def __init__(
        self, url: str, authorization: str = "", connect_s: float = 60.0
    ) -> None:
        self.url, self._connect_s = url.rstrip("/"), connect_s
        self.opened = 0
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
        """Return an answer with its body still unread; read it before the next request.

        ``seconds`` limits the wait for each piece; None: no limit. Raises
        NoConnectionError, TimeoutError and the others of BROKEN.
        """
        if not self._is_free():
            self.close()
        connection = self._connection = self._connection or self._opened()
        self._answer = None
        connection.sock.settimeout(seconds)
        target = quote(urlsplit(self.url).path + path, _IN_TARGET)
        # Send head and body in one packet.
        connection.sock.setsockopt(IPPROTO_TCP, TCP_CORK, 1)
        connection.request(method, target, body, {**self._account(), **headers})
        connection.sock.setsockopt(IPPROTO_TCP, TCP_CORK, 0)
        self._answer = connection.getresponse()
        return self._answer

    def close(self) -> None:
        """Close the connection."""
        for one in (self._answer, self._connection):
            if one:
                one.close()
        self._answer = self._connection = None

    def _is_free(self) -> bool:
        """Whether the last answer is complete and the server keeps the connection."""
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
        self.opened += 1
        return connection

    def _made(self) -> HTTPConnection:
        parts, seconds = urlsplit(self.url), self._connect_s
        if parts.hostname and parts.scheme == "http":
            return HTTPConnection(parts.hostname, parts.port or 80, timeout=seconds)
        if parts.hostname and parts.scheme == "https":
            return HTTPSConnection(
                parts.hostname,
                parts.port or 443,
                timeout=seconds,
                context=certificate_authorities(),
            )
        raise ValueError("the address is not http://HOST or https://HOST")

    def _account(self) -> dict[str, str]:
        asks = self._authorization or basic(account_in(self.url))
        return {"Authorization": asks} if asks else {}


def pieces(answer: HTTPResponse) -> Iterator[bytes]:
    """Yield a body as it arrives; raises one of BROKEN if it is incomplete."""
    while piece := answer.read1(_PIECE):
        yield piece
    if answer.length:  # unlike `read`, `read1` does not check this
        raise IncompleteRead(b"", answer.length)
    answer.close()


def lines(answer: HTTPResponse) -> Iterator[bytes]:
    """Yield the lines of a body; `readline` misses an end between two chunks."""
    rest = b""
    for piece in pieces(answer):
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    yield rest


class HttpPool:
    """Connections to one server, one for each thread that has a request."""

    def __init__(self, connect: Callable[[], HttpConnection]) -> None:
        self._connect = connect
        self._idle: deque[HttpConnection] = deque()

    @contextmanager
    def connection(self) -> Iterator[HttpConnection]:
        """Yield a connection for exclusive use; it is closed if the block fails."""
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
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()


def basic(account: tuple[str, str] | None) -> str:
    """Return the header for basic authentication; empty without an account."""
    if account is None:
        return ""
    return f"Basic {b64encode(':'.join(account).encode()).decode()}"


def account_in(url: str) -> tuple[str, str] | None:
    """Return the account in an address; None without one."""
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return (user, password) if user else None


@cache
def certificate_authorities() -> SSLContext:
    """Return the certificate authorities, cached: reading them takes 15 ms."""
    import httpx  # only https needs it

    return httpx.create_ssl_context(trust_env=False)
