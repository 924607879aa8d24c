"""Stores that are unreachable, slow, endless or broken: one error that says which."""

import asyncio
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

import pytest

from core.stores.connections import Connections
from core.stores.endpoint import Endpoint
from core.stores.errors import (
    AccountRefusedError,
    EndpointError,
    EndpointTimeoutError,
    EndpointUnreachableError,
    IncompleteAnswerError,
    QuerySyntaxError,
    TooLargeError,
)
from core.stores.fuseki import GraphStore
from core.stores.results import read_rows
from tests.core.stores.made_up import GRAPH, many
from tests.ports import free_port

ENDLESS = "?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l"


def test_unreachable_store_names_its_url_and_the_fix():
    with (
        Endpoint(f"http://127.0.0.1:{free_port()}/twin") as endpoint,
        pytest.raises(EndpointUnreachableError, match="/twin .*make status"),
    ):
        endpoint.ask("ASK {}")


@pytest.mark.parametrize(
    "url", ["nonsense", "http://", "http://no such host/twin", "http://["]
)
def test_invalid_url_is_unreachable(url):
    with Endpoint(url) as endpoint, pytest.raises(EndpointUnreachableError):
        endpoint.ask("ASK {}")


def test_query_that_takes_too_long_is_stopped(endpoint, fuseki):
    endpoint.put_graph(GRAPH, many(1000))
    start = time.monotonic()
    with Endpoint(f"{fuseki.url}/twin", timeout=0.5) as hasty:
        with pytest.raises(EndpointTimeoutError, match=r"within 0.5 s"):
            hasty.select(f"SELECT (COUNT(*) AS ?n) {{ {ENDLESS} }}")
        with pytest.raises(EndpointTimeoutError):
            hasty.construct(f"CONSTRUCT {{ ?a ?h ?l }} WHERE {{ {ENDLESS} }}")
    assert time.monotonic() - start < 20


def test_rows_cut_by_the_timeout_are_an_error(endpoint, fuseki):
    endpoint.put_graph(GRAPH, many(1000))
    with (
        Endpoint(f"{fuseki.url}/twin", timeout=0.3) as hasty,
        pytest.raises(EndpointTimeoutError),
    ):
        hasty.select(f"SELECT * {{ {ENDLESS} }}")


def test_too_large_answer_is_refused(endpoint, fuseki):
    endpoint.put_graph(GRAPH, many(1000))
    with (
        Endpoint(f"{fuseki.url}/twin", max_bytes=10_000) as small,
        pytest.raises(TooLargeError, match="more than 10000 bytes"),
    ):
        small.select("SELECT * { ?s ?p ?o }")


def test_slow_stream_times_out():
    head = HEAD % b"application/sparql-results+json" + b"\r\n"
    with (
        server(head, drip=b" ") as url,
        Endpoint(url, timeout=0.1) as endpoint,
        pytest.raises(EndpointTimeoutError),
    ):
        endpoint.select("SELECT * {}")


def test_answer_cut_at_any_byte_is_detected(endpoint):
    endpoint.put_graph(GRAPH, many(3))
    body = endpoint.answer(
        "SELECT * { ?s ?p ?o }", "application/sparql-results+json"
    ).rstrip()
    assert len(read_rows(body).rows) == 3
    for end in range(len(body)):
        with pytest.raises(IncompleteAnswerError):
            read_rows(body[:end])


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n"


@pytest.mark.parametrize(
    "reply",
    [
        HEAD % b"application/sparql-results+json" + b"Content-Length: 99\r\n\r\n{",
        HEAD % b"application/sparql-results+json"
        + b"Transfer-Encoding: chunked\r\n\r\n5\r",
        b"",
    ],
)
def test_broken_connection_is_an_incomplete_answer(reply):
    with (
        server(reply, reply) as url,
        Endpoint(url) as endpoint,
        pytest.raises(IncompleteAnswerError, match="before it was complete"),
    ):
        endpoint.select("SELECT * {}")


def test_other_server_is_reported():
    page = HEAD % b"text/html" + b"Content-Length: 13\r\n\r\n<html></html>"
    with server(page) as url, Endpoint(url) as endpoint, pytest.raises(EndpointError):
        endpoint.select("SELECT * {}")


def test_read_interrupted_by_compaction_is_repeated():
    interrupted = b"HTTP/1.0 500 No\r\nContent-Length: 21\r\n\r\nNot in a transaction\n"
    answer = HEAD % b"application/sparql-results+json"
    answer += b'Content-Length: 26\r\n\r\n{"head":{},"boolean":true}'
    with server(interrupted, answer) as url, Endpoint(url) as endpoint:
        assert endpoint.ask("ASK {}")
    with (
        server(interrupted, interrupted) as url,
        Endpoint(url) as endpoint,
        pytest.raises(EndpointError, match="Not in a transaction"),
    ):
        endpoint.ask("ASK {}")


def test_silent_server_times_out():
    with (
        server(None) as url,
        Endpoint(url, timeout=0.1) as endpoint,
        pytest.raises(EndpointTimeoutError),
    ):
        endpoint.select("SELECT * {}")


TEXT = b"HTTP/1.1 %s\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n%s"


@pytest.mark.parametrize(
    ("replies", "kind"),
    [
        ([TEXT % (b"401 No", b"")], AccountRefusedError),
        ([TEXT % (b"400 Bad", b"Parse error: line 1")], QuerySyntaxError),
        ([TEXT % (b"500 No", b"Insufficient content written 0")], QuerySyntaxError),
        ([TEXT % (b"503 No", b"Query timed out")], EndpointTimeoutError),
        ([TEXT % (b"404 No", b"")], EndpointError),
        ([TEXT % (b"200 OK", b"hello")], EndpointError),
        ([TEXT % (b"500 No", b"Not in a transaction")] * 2, IncompleteAnswerError),
        ([b""] * 2, IncompleteAnswerError),
        ([None], EndpointTimeoutError),
        ([], EndpointUnreachableError),
    ],
)
def test_both_clients_report_a_failure_in_the_same_words(
    replies: list[bytes | None], kind: type[EndpointError]
) -> None:
    said = []
    for ask in (_ask_synchronously, _ask_asynchronously):
        with server(*replies) if replies else nullcontext(NOWHERE) as url:
            with pytest.raises(EndpointError) as caught:
                ask(url)
            assert caught.type is kind
            # The reason of a failed connection is the library's.
            text = str(caught.value).replace(url, "URL")
            said.append(re.sub(r"\(.*\); see", "(…); see", text))
    assert said[0] == said[1]


NOWHERE = "http://127.0.0.1:9/twin"
_PATIENCE = 3.0  # seconds, of which one case takes all


def _ask_synchronously(url: str) -> None:
    with Endpoint(url, timeout=_PATIENCE) as endpoint:
        endpoint.select("SELECT * {}")


def _ask_asynchronously(url: str) -> None:
    async def ask() -> None:
        async with Connections() as connections:
            await GraphStore(connections, url, _PATIENCE, 1000).select("SELECT * {}")

    asyncio.run(ask())


def _read_request(client: socket.socket) -> None:
    """Read head and body: closing with unread bytes would reset the connection."""
    with client.makefile("rb") as stream:
        head = b"".join(iter(stream.readline, b"\r\n")).lower()
        length = re.search(rb"content-length: (\d+)", head)
        stream.read(int(length[1]) if length else 0)


@contextmanager
def server(*replies: bytes | None, drip: bytes = b"") -> Iterator[str]:
    """A server that sends each client some bytes; None: it never answers."""
    done = threading.Event()

    def serve() -> None:
        for reply in replies:
            client, _ = listener.accept()
            with client:
                answer(client, reply)

    def answer(client: socket.socket, reply: bytes | None) -> None:
        _read_request(client)
        if reply is None:
            done.wait()
        else:
            client.sendall(reply)
        while drip and not done.wait(0.1):
            with suppress(OSError):
                client.sendall(drip)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/twin"
        done.set()
        thread.join()
