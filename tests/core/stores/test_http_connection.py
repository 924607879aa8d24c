"""Connections are kept as long as both sides keep them, and no longer."""

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from http.client import HTTPResponse

import pytest

from core.stores.http_connection import (
    BROKEN,
    HttpConnection,
    NoConnectionError,
    account_in,
    lines,
    pieces,
)

KEPT = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
LAST = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"
ENDLESS = b"HTTP/1.1 200 OK\r\n\r\nhi"


@contextmanager
def server(answer: bytes, times: int) -> Iterator[tuple[str, list[int]]]:
    """A server that closes after some answers; yields its URL and its requests."""
    asked: list[int] = []

    def serve() -> None:
        with suppress(OSError):  # one side closes the connection
            while True:
                client, _ = listener.accept()
                with client:
                    asked.append(0)
                    while asked[-1] < times and client.recv(65536):
                        asked[-1] += 1
                        client.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize(
    ("answer", "times", "asked"),
    [
        (KEPT, 9, [3]),
        (LAST, 9, [1, 1, 1]),
        (KEPT, 1, [1, 1, 1]),
        (ENDLESS, 1, [1, 1, 1]),
    ],
    ids=["kept", "last", "closed-by-server", "without-length"],
)
def test_connection_is_reused_while_both_sides_keep_it(answer, times, asked):
    with server(answer, times) as (url, found), closing(HttpConnection(url)) as one:
        for _ in range(3):
            assert b"".join(pieces(one.request("GET", "/"))) == b"hi"
            _wait_for_the_end(one, times)
    assert found == asked


def _wait_for_the_end(one: HttpConnection, times: int) -> None:
    """Wait until the server has closed the connection, if it does."""
    if times == 1:
        assert one._connection is not None
        if one._connection.sock:
            assert one._connection.sock.recv(1, socket.MSG_PEEK) == b""


def test_unread_answer_does_not_disturb_the_next():
    half = KEPT.replace(b"2", b"3")
    with server(half, 9) as (url, found), closing(HttpConnection(url)) as one:
        for _ in range(2):
            assert next(pieces(one.request("GET", "/"))) == b"hi"
    assert found == [1, 1]


@pytest.mark.parametrize("read", [pieces, lines, lambda answer: [answer.read()]])
@pytest.mark.parametrize(
    "answer",
    [
        KEPT.replace(b"2", b"3"),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhi",
    ],
    ids=["length", "between-chunks", "chunk"],
)
def test_incomplete_answer_is_noticed(
    answer: bytes, read: Callable[[HTTPResponse], Iterable[bytes]]
):
    with server(answer, 1) as (url, _), closing(HttpConnection(url)) as one:
        found = one.request("GET", "/")
        with pytest.raises(BROKEN):
            list(read(found))


def test_head_and_body_are_one_packet():
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        closing(HttpConnection(f"http://127.0.0.1:{listener.getsockname()[1]}")) as one,
        ThreadPoolExecutor(1) as pool,
    ):
        answer = pool.submit(one.request, "POST", "/", b"body")
        client, _ = listener.accept()
        with client:
            assert client.recv(65536).endswith(b"\r\n\r\nbody")
            client.sendall(KEPT)
            assert answer.result().read() == b"hi"


@pytest.mark.parametrize("url", ["http://", "ftp://localhost", "http://x:port", "x"])
def test_invalid_address_is_refused(url: str):
    with pytest.raises(NoConnectionError):
        HttpConnection(url).request("GET", "/")


@pytest.mark.parametrize(
    ("url", "account"),
    [
        ("http://host/twin", None),
        ("http://me:p%40ss@host/twin", ("me", "p@ss")),
        ("http://me@host", ("me", "")),
    ],
)
def test_address_may_contain_an_account(url: str, account: tuple[str, str] | None):
    assert account_in(url) == account
