"""Stores that are away, slow, endless or broken: one error that says which."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from core.stores.endpoint import Endpoint
from core.stores.errors import (
    EndpointError,
    EndpointTimeoutError,
    EndpointUnreachableError,
    IncompleteAnswerError,
    TooLargeError,
)
from core.stores.results import read_rows
from tests.core.stores.made_up import GRAPH, many
from tests.ports import free_port

ENDLESS = "?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l"


def test_unreachable_store_names_url_and_fix():
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
    # Use a longer timeout if the store was held up until no row came in time.
    for seconds in (0.3, 3, 30):
        with (
            Endpoint(f"{fuseki.url}/twin", timeout=seconds) as hasty,
            pytest.raises((IncompleteAnswerError, EndpointTimeoutError)) as caught,
        ):
            hasty.select(f"SELECT * {{ {ENDLESS} }}")
        if caught.type is IncompleteAnswerError:
            break
    assert caught.match("ends before it is complete")


def test_too_large_answer_is_stopped(endpoint, fuseki):
    endpoint.put_graph(GRAPH, many(1000))
    with (
        Endpoint(f"{fuseki.url}/twin", max_bytes=10_000) as small,
        pytest.raises(TooLargeError, match="more than 10000 bytes"),
    ):
        small.select("SELECT * { ?s ?p ?o }")


def test_slow_endless_stream_is_stopped():
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
def test_broken_connection_is_reported(reply):
    with (
        server(reply) as url,
        Endpoint(url) as endpoint,
        pytest.raises(IncompleteAnswerError, match="broke its answer off"),
    ):
        endpoint.select("SELECT * {}")


def test_other_server_is_reported():
    page = HEAD % b"text/html" + b"Content-Length: 13\r\n\r\n<html></html>"
    with server(page) as url, Endpoint(url) as endpoint, pytest.raises(EndpointError):
        endpoint.select("SELECT * {}")


def test_read_is_repeated_after_a_compaction():
    spoilt = b"HTTP/1.0 500 No\r\nContent-Length: 21\r\n\r\nNot in a transaction\n"
    answer = HEAD % b"application/sparql-results+json"
    answer += b'Content-Length: 26\r\n\r\n{"head":{},"boolean":true}'
    with server(spoilt, answer) as url, Endpoint(url) as endpoint:
        assert endpoint.ask("ASK {}")
    with (
        server(spoilt, spoilt) as url,
        Endpoint(url) as endpoint,
        pytest.raises(EndpointError, match="Not in a transaction"),
    ):
        endpoint.ask("ASK {}")


def test_silent_server_is_a_timeout():
    with (
        server(None) as url,
        Endpoint(url, timeout=0.1) as endpoint,
        pytest.raises(EndpointTimeoutError),
    ):
        endpoint.select("SELECT * {}")


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
        client.recv(65536)
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
