"""The API as the command line asks it: httptools over a socket, quick to import."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from httptools import HttpParserError, HttpResponseParser, parse_url

from api.access.local_api import LocalApi, read_local_api

_SECONDS = 60.0
_UNAUTHORIZED, _REFUSED, _FAILURE = 401, 400, 500
_PIECE = 1 << 16
_BROKEN = (OSError, HttpParserError)


class ApiAnswerError(click.ClickException):
    """A refusal of the API, which the user can mend."""

    exit_code = 2


class AwayError(click.ClickException):
    """No API answers, or it fails."""


class ApiClient:
    """One connection to the API of a state folder, opened again when it breaks.

    An API that was started anew has another key, which is looked up then. Methods raise
    ApiAnswerError and AwayError.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        local = read_local_api(home)
        if local is None:
            raise AwayError(
                f"no SuperTwin of yours runs in {home}: `make up` starts one"
            )
        self._connection = _Connection(local)

    def ask(
        self, method: str, path: str, body: bytes = b"", *, queues: bool = False
    ) -> Any:
        """The JSON document that a request is answered with.

        One that ``queues`` is answered when its turn comes, be that tomorrow; where the
        API dies meanwhile, the connection ends.
        """
        status, text = self._sent(method, path, body, queues)
        if status == _UNAUTHORIZED and self._is_another():
            status, text = self._sent(method, path, body, queues)
        if status >= _REFUSED:
            raise _refusal(status, text)
        return json.loads(text) if text else None

    def close(self) -> None:
        """Leave the connection, which a next request opens again."""
        self._connection.close()

    def events(self, path: str) -> Iterator[Any]:
        """What a stream of events says, until it ends."""
        local, rest = self._connection.local, b""
        with closing(_Connection(local)) as connection:
            try:
                answer = connection.request("GET", path)
                if answer.status >= _REFUSED:
                    raise _refusal(answer.status, b"".join(answer.pieces()))
                for piece in answer.pieces():
                    *lines, rest = (rest + piece).split(b"\n")
                    for line in lines:
                        if line.startswith(b"data:"):
                            yield json.loads(line[5:])
            except _BROKEN as error:
                raise _away(local, error) from None

    def _sent(
        self, method: str, path: str, body: bytes, queues: bool
    ) -> tuple[int, bytes]:
        local, seconds = self._connection.local, None if queues else _SECONDS
        try:
            answer = self._connection.request(method, path, body, seconds)
            text = b"".join(answer.pieces())
        except _BROKEN as error:
            self._connection.close()
            self._is_another()
            raise _away(local, error) from None
        if not answer.keeps_alive:
            self._connection.close()
        return answer.status, text

    def _is_another(self) -> bool:
        """Whether an API was started meanwhile, which is asked from now on."""
        local = read_local_api(self._home)
        if local is None or local == self._connection.local:
            return False
        self._connection.close()
        self._connection = _Connection(local)
        return True


class _Connection:
    """A way to an API, open from the first request on."""

    def __init__(self, local: LocalApi) -> None:
        self.local = local
        self._socket: socket.socket | None = None

    def request(
        self, method: str, path: str, body: bytes = b"", seconds: float | None = None
    ) -> "_Answer":
        """An answer whose status is known, to be read before anything else is asked.

        ``seconds`` is how long each of its pieces is waited for; None: for ever.
        """
        self._socket = self._socket or self._opened()
        self._socket.settimeout(seconds)
        self._socket.sendall(self._head(method, path, len(body)) + body)
        return _Answer(self._socket)

    def close(self) -> None:
        """Hang up."""
        if self._socket:
            self._socket.close()
        self._socket = None

    def _opened(self) -> socket.socket:
        url = parse_url(self.local.url.encode())
        place = (url.host.decode(), url.port or 80)
        opened = socket.create_connection(place, _SECONDS)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened

    def _head(self, method: str, path: str, length: int) -> bytes:
        lines = (
            f"{method} {path} HTTP/1.1",
            f"Host: {self.local.url.partition('//')[2].rstrip('/')}",
            f"Authorization: Bearer {self.local.key}",
            "Accept: application/json, text/event-stream",
            "Content-Type: application/json",
            f"Content-Length: {length}",
        )
        return "\r\n".join((*lines, "", "")).encode()


class _Answer:
    """An answer as it comes; httptools calls what begins with ``on_``.

    Raises OSError and HttpParserError where it breaks off or is none.
    """

    def __init__(self, source: socket.socket) -> None:
        self.status, self.keeps_alive = 0, False
        self._socket, self._parser = source, HttpResponseParser(self)
        self._body: list[bytes] = []
        self._is_whole = False
        while not self.status:
            self._receive()

    def on_headers_complete(self) -> None:
        """Take the status."""
        self.status = self._parser.get_status_code()
        self.keeps_alive = self._parser.should_keep_alive()

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

    def _receive(self) -> None:
        piece = self._socket.recv(_PIECE)
        if not piece:
            raise ConnectionError("it hung up")
        self._parser.feed_data(piece)


def _away(local: LocalApi, error: Exception) -> AwayError:
    return AwayError(
        f"SuperTwin at {local.url} does not answer ({error}): `make status` tells more"
    )


def _refusal(status: int, text: bytes) -> click.ClickException:
    kind = AwayError if status >= _FAILURE else ApiAnswerError
    try:
        return kind(str(json.loads(text)["detail"]))
    except (ValueError, TypeError, KeyError):
        return kind(f"SuperTwin answered with {status}")
