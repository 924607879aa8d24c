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


def test_a_store_that_is_down_names_its_url_and_the_cure():
    with (
        Endpoint(f"http://127.0.0.1:{free_port()}/twin") as endpoint,
        pytest.raises(EndpointUnreachableError, match="/twin .*make status"),
    ):
        endpoint.ask("ASK {}")


@pytest.mark.parametrize(
    "url", ["nonsense", "http://", "http://no such host/twin", "http://["]
)
def test_a_url_that_is_none(url):
    with Endpoint(url) as endpoint, pytest.raises(EndpointUnreachableError):
        endpoint.ask("ASK {}")


def test_a_query_that_takes_too_long_is_stopped(endpoint, fuseki):
    endpoint.put_graph(GRAPH, many(1000))
    start = time.monotonic()
    with Endpoint(f"{fuseki.url}/twin", timeout=0.5) as hasty:
        with pytest.raises(EndpointTimeoutError, match=r"within 0.5 s"):
            hasty.select(f"SELECT (COUNT(*) AS ?n) {{ {ENDLESS} }}")
        with pytest.raises(EndpointTimeoutError):
            hasty.construct(f"CONSTRUCT {{ ?a ?h ?l }} WHERE {{ {ENDLESS} }}")
    assert time.monotonic() - start < 20


def test_rows_cut_short_by_the_timeout_are_not_an_answer(endpoint, fuseki):
    endpoint.put_graph(GRAPH, many(1000))
    with (
        Endpoint(f"{fuseki.url}/twin", timeout=0.3) as hasty,
        pytest.raises(EndpointTimeoutError),
    ):
        hasty.select(f"SELECT * {{ {ENDLESS} }}")


def test_an_answer_that_is_too_large_is_broken_off(endpoint, fuseki):
    endpoint.put_graph(GRAPH, many(1000))
    with (
        Endpoint(f"{fuseki.url}/twin", max_bytes=10_000) as small,
        pytest.raises(TooLargeError, match="more than 10000 bytes"),
    ):
        small.select("SELECT * { ?s ?p ?o }")


def test_a_stream_that_drips_on_is_given_up():
    head = HEAD % b"application/sparql-results+json" + b"\r\n"
    with (
        server(head, drip=b" ") as url,
        Endpoint(url, timeout=0.1) as endpoint,
        pytest.raises(EndpointTimeoutError),
    ):
        endpoint.select("SELECT * {}")


def test_every_cut_of_an_answer_is_noticed(endpoint):
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
def test_a_connection_that_breaks_off(reply):
    with (
        server(reply, reply) as url,
        Endpoint(url) as endpoint,
        pytest.raises(IncompleteAnswerError, match="before it was complete"),
    ):
        endpoint.select("SELECT * {}")


def test_a_server_that_is_not_a_graph_store():
    page = HEAD % b"text/html" + b"Content-Length: 13\r\n\r\n<html></html>"
    with server(page) as url, Endpoint(url) as endpoint, pytest.raises(EndpointError):
        endpoint.select("SELECT * {}")


def test_a_read_that_a_compaction_spoilt_is_asked_again():
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


def test_a_server_that_never_answers():
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
