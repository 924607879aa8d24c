"""The client of the graph store, against a real Fuseki and broken servers."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal

import pytest
from rdflib import XSD, BNode, Graph, Literal, URIRef

from queries.endpoint import Endpoint
from queries.errors import (
    CutShortError,
    EndpointError,
    EndpointTimeoutError,
    EndpointUnreachableError,
    QuerySyntaxError,
    TooLargeError,
    UpdateRefusedError,
)
from queries.results import read_rows

GRAPH = "http://x/graph"
THING = URIRef("http://x/ü")


def many(count: int) -> Graph:
    graph = Graph()
    for number in range(count):
        graph.add((URIRef(f"http://x/{number}"), URIRef("http://x/p"), Literal(number)))
    return graph


ENDLESS = "?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l"


def test_select_gives_typed_terms(endpoint):
    rows = endpoint.select(
        'SELECT * { VALUES (?a ?b) { (<http://x/ü> 1) ("x"@de 1.50) (UNDEF true) '
        '("a\\nb" "01"^^<http://www.w3.org/2001/XMLSchema#integer>) } }'
    )
    assert rows.columns == ["a", "b"]
    assert rows.rows[:3] == [
        [THING, Literal(1)],
        [Literal("x", lang="de"), Literal("1.50", datatype=XSD.decimal)],
        [None, Literal(True)],
    ]
    assert str(rows.rows[3][1]) == "01"
    assert rows.values() == [
        ["http://x/ü", 1],
        ["x", Decimal("1.5")],
        [None, True],
        ["a\nb", 1],
    ]


def test_select_gives_blank_nodes(endpoint):
    rows = endpoint.select("SELECT ?b { BIND (BNODE() AS ?b) }")
    assert isinstance(rows.rows[0][0], BNode)


def test_ask(endpoint):
    assert endpoint.ask("ASK {}") is True
    assert endpoint.ask("ASK { ?s ?p ?o }") is False


def test_graphs_are_put_read_and_replaced(endpoint):
    first, second = Graph(), Graph()
    first.add((THING, THING, Literal('quote " and\nline', lang="en")))
    second.add((THING, THING, Literal(2)))
    endpoint.put_graph(GRAPH, first)
    assert set(endpoint.get_graph(GRAPH)) == set(first)
    endpoint.put_graph(GRAPH, second)
    assert set(endpoint.get_graph(GRAPH)) == set(second)
    assert endpoint.get_graph(GRAPH).identifier == URIRef(GRAPH)


def test_a_graph_that_is_not_there_is_empty(endpoint):
    assert len(endpoint.get_graph("http://x/none")) == 0


def test_the_default_graph_is_the_union(endpoint):
    endpoint.put_graph(GRAPH, many(2))
    endpoint.put_graph(GRAPH + "2", many(3))
    rows = endpoint.select("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
    assert rows.rows == [[Literal(3)]]


def test_construct(endpoint):
    endpoint.put_graph(GRAPH, many(3))
    graph = endpoint.construct("CONSTRUCT { ?s a ?p } WHERE { ?s ?p ?o }")
    assert len(graph) == 3


def test_update_is_whole_or_not_at_all(endpoint):
    endpoint.update(f"INSERT DATA {{ GRAPH <{GRAPH}> {{ <a:a> <a:b> 1 }} }}")
    with pytest.raises(EndpointError):
        endpoint.update(
            f"DROP GRAPH <{GRAPH}> ; LOAD <http://127.0.0.1:1/nothing> INTO GRAPH <a:b>"
        )
    assert len(endpoint.get_graph(GRAPH)) == 1


def test_a_syntax_error_is_the_store_s_message_in_one_line(endpoint):
    with pytest.raises(QuerySyntaxError, match=r"no SPARQL query: .*line 2") as caught:
        endpoint.select("SELECT * {\n\n")
    assert "\n" not in str(caught.value)


def test_a_syntax_error_in_an_update(endpoint):
    with pytest.raises(QuerySyntaxError, match="no SPARQL Update"):
        endpoint.update("INSERT DATA { <a:b> <a:c> ?x }")


def test_an_update_is_no_query(endpoint):
    with pytest.raises(QuerySyntaxError):
        endpoint.select("INSERT DATA { <a:b> <a:c> 1 }")


def test_a_query_is_no_update(endpoint):
    with pytest.raises(QuerySyntaxError):
        endpoint.update("SELECT * { ?s ?p ?o }")


@pytest.mark.parametrize(
    ("method", "sparql"),
    [
        ("select", "ASK {}"),
        ("select", "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"),
        ("ask", "SELECT * {}"),
        ("construct", "SELECT * {}"),
        ("select", "SELECT * {} # \ud800"),
    ],
)
def test_a_query_of_another_form_is_refused(endpoint, method, sparql):
    with pytest.raises(QuerySyntaxError):
        getattr(endpoint, method)(sparql)


def test_a_write_to_a_read_only_dataset_is_refused(endpoint, fuseki):
    with Endpoint(f"{fuseki}/frozen") as frozen:
        assert frozen.ask("ASK {}")
        with pytest.raises(EndpointError):
            frozen.update("DROP ALL")
        with pytest.raises(UpdateRefusedError, match="refused to write"):
            frozen.put_graph(GRAPH, many(1))


def test_a_dataset_that_is_not_there(fuseki):
    with Endpoint(f"{fuseki}/nothing") as nothing:
        for call in (
            lambda: nothing.select("SELECT * {}"),
            lambda: nothing.update("DROP ALL"),
            lambda: nothing.get_graph(GRAPH),
            lambda: nothing.put_graph(GRAPH, many(1)),
        ):
            with pytest.raises(EndpointError, match="is it a dataset"):
                call()


def test_a_store_that_is_down_names_its_url_and_the_cure():
    with (
        Endpoint(f"http://127.0.0.1:{unused_port()}/twin") as endpoint,
        pytest.raises(EndpointUnreachableError, match="/twin .*make status"),
    ):
        endpoint.ask("ASK {}")


@pytest.mark.parametrize("url", ["nonsense", "http://", "http://no such host/twin"])
def test_a_url_that_is_none(url):
    with Endpoint(url) as endpoint, pytest.raises(EndpointUnreachableError):
        endpoint.ask("ASK {}")


def test_a_query_that_takes_too_long_is_stopped(endpoint, fuseki):
    endpoint.put_graph(GRAPH, many(1000))
    start = time.monotonic()
    with Endpoint(f"{fuseki}/twin", timeout=0.5) as hasty:
        with pytest.raises(EndpointTimeoutError, match=r"within 0.5 s"):
            hasty.select(f"SELECT (COUNT(*) AS ?n) {{ {ENDLESS} }}")
        with pytest.raises(EndpointTimeoutError):
            hasty.construct(f"CONSTRUCT {{ ?a ?h ?l }} WHERE {{ {ENDLESS} }}")
    assert time.monotonic() - start < 20


def test_rows_cut_short_by_the_time_are_no_answer(endpoint, fuseki):
    endpoint.put_graph(GRAPH, many(1000))
    with (
        Endpoint(f"{fuseki}/twin", timeout=0.3) as hasty,
        pytest.raises(CutShortError, match="ends before it is complete"),
    ):
        hasty.select(f"SELECT * {{ {ENDLESS} }}")


def test_an_answer_that_is_too_large_is_broken_off(endpoint, fuseki):
    endpoint.put_graph(GRAPH, many(1000))
    with (
        Endpoint(f"{fuseki}/twin", max_bytes=10_000) as small,
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
        with pytest.raises(CutShortError):
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
        server(reply) as url,
        Endpoint(url) as endpoint,
        pytest.raises(CutShortError, match="broke its answer off"),
    ):
        endpoint.select("SELECT * {}")


def test_a_server_that_is_no_graph_store():
    page = HEAD % b"text/html" + b"Content-Length: 13\r\n\r\n<html></html>"
    with server(page) as url, Endpoint(url) as endpoint, pytest.raises(EndpointError):
        endpoint.select("SELECT * {}")


def test_a_server_that_never_answers():
    with (
        server(None) as url,
        Endpoint(url, timeout=0.1) as endpoint,
        pytest.raises(EndpointTimeoutError),
    ):
        endpoint.select("SELECT * {}")


def test_one_endpoint_serves_many_threads(endpoint):
    endpoint.put_graph(GRAPH, many(50))
    counts: list[int] = []

    def read() -> None:
        for _ in range(5):
            counts.append(len(endpoint.select("SELECT * { ?s ?p ?o }").rows))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [50] * 40


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def server(reply: bytes | None, drip: bytes = b"") -> Iterator[str]:
    """A server that sends these bytes to its first client, then hangs up, or goes on
    dripping; with None it never answers."""
    done = threading.Event()

    def serve() -> None:
        client, _ = listener.accept()
        with client:
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
