"""Answers are bounded in time and size, and a truncated answer is never a success."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from starlette.types import Message

from api.app import create_app
from core.errors import ApiError
from core.settings.settings import Settings
from core.stores.connections import Connections
from core.stores.fuseki import GraphStore
from core.stores.spool import Spool

PATTERNS = " . ".join(f"?s{n} ?p{n} ?o{n}" for n in range(8))
XML = "application/sparql-results+xml"
ENDLESS = [
    (f"SELECT (COUNT(*) AS ?n) {{ {PATTERNS} }}", "application/json"),
    (f"SELECT ?s0 {{ {PATTERNS} FILTER (?s0 = ?s7 && ?s0 < 1) }}", "text/csv"),
    (f"CONSTRUCT {{ ?s0 ?p1 ?o2 }} {{ {PATTERNS} }}", "application/ld+json"),
    (f"ASK {{ {PATTERNS} FILTER (?s0 = CONCAT(STR(?s7), STR(?s3))) }}", XML),
]


@pytest.mark.parametrize(("query", "accept"), ENDLESS)
def test_endless_query_is_stopped(api: httpx.Client, query: str, accept: str) -> None:
    answer = api.post("/sparql", data={"query": query}, headers={"Accept": accept})
    assert answer.status_code == 504
    assert answer.headers["content-type"] == "application/problem+json"
    assert "within 2 s" in answer.json()["detail"]


@pytest.mark.parametrize("media_type", ["text/csv", "text/turtle"])
def test_huge_answer_is_stopped(fuseki: str, media_type: str) -> None:
    form = "CONSTRUCT" if media_type == "text/turtle" else "SELECT *"
    query = f"{form} WHERE {{ ?s ?p ?o }}"
    url = f"{fuseki}/twin"
    found = refused(lambda: ask(url, 30, media_type, query))
    assert found.status == 413
    assert "more than 10000 bytes" in found.detail


def test_other_requests_are_served_at_the_same_time(api: httpx.Client) -> None:
    served = threading.Event()

    def endless() -> None:
        while not served.is_set():
            api.post("/sparql", data={"query": ENDLESS[0][0]})

    threads = [threading.Thread(target=endless) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert api.get("/twin/n1").status_code == 200
    finally:
        served.set()
        for thread in threads:
            thread.join()


def test_disconnected_client_stops_the_query(fuseki: str) -> None:
    app = create_app(Settings(**{"fuseki_url": fuseki}))
    connections = app.state.services.sparql.client
    messages = [{"type": "http.request", "body": f"query={ENDLESS[2][0]}".encode()}]
    sent: list[Message] = []
    open_: list[int] = []

    async def receive() -> Message:
        if messages:
            return messages.pop()
        await asyncio.sleep(0.5)
        open_.append(connections.busy)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    async def asked() -> None:
        async with asyncio.timeout(120):
            await app(SCOPE, receive, send)
        open_.append(connections.busy)
        await app.state.services.aclose()

    asyncio.run(asked())
    assert open_ == [1, 0]
    assert sent[0]["status"] == 499


SCOPE = {
    "type": "http",
    "http_version": "1.1",
    "method": "POST",
    "scheme": "http",
    "path": "/sparql",
    "raw_path": b"/sparql",
    "query_string": b"",
    "root_path": "",
    "headers": [(b"content-type", b"application/x-www-form-urlencoded")],
    "server": ("127.0.0.1", 8000),
}

Answer = tuple[bytes, ...]
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/sparql-results+json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
BODY = b'{"head":{"vars":[]},"results":{"bindings":[]}}'
WHOLE = b"%x\r\n%s\r\n" % (len(BODY), BODY)


@contextlib.contextmanager
def answering(*answers: Answer, pause: float = 0) -> Iterator[str]:
    """Serve these bytes, one answer per connection, and close the connection."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for answer in answers:
            with contextlib.suppress(OSError), listener.accept()[0] as connection:
                asked = b""
                while b"&timeout=" not in asked and (got := connection.recv(65536)):
                    asked += got
                for part in answer:
                    connection.sendall(part)
                    time.sleep(pause)

    thread = threading.Thread(target=serve)
    thread.start()
    with listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/twin"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def ask(
    url: str,
    timeout: float = 5.0,
    media_type: str = XML.replace("xml", "json"),
    query: str = "SELECT * {}",
) -> bytes:
    async def asked() -> bytes:
        async with Connections() as client:
            store = GraphStore(client, url, timeout, 10_000)
            return await store.query(query, media_type)

    return asyncio.run(asked())


def spooled(url: str) -> bytes:
    async def asked() -> bytes:
        spool = Spool(Path("/nowhere"))
        async with Connections() as client:
            store = GraphStore(client, url, 5, 10_000)
            await store.spooled(spool, "SELECT * {}", XML.replace("xml", "json"))
        return spool.in_memory or b""

    return asyncio.run(asked())


def refused(call: Callable[[], bytes]) -> ApiError:
    with pytest.raises(ApiError) as error:
        call()
    return error.value


@pytest.mark.parametrize("asked", [ask, spooled])
def test_complete_answer_is_passed_on(asked: Callable[[str], bytes]) -> None:
    with answering((HEAD, WHOLE, b"0\r\n\r\n")) as url:
        assert asked(url) == BODY


@pytest.mark.parametrize("asked", [ask, spooled])
@pytest.mark.parametrize("first", [(), (HEAD, b"5\r\nother\r\n")])
def test_query_is_retried_after_a_connection_closed(
    asked: Callable[[str], bytes], first: Answer
) -> None:
    with answering(first, (HEAD, WHOLE, b"0\r\n\r\n")) as url:
        assert asked(url) == BODY


@pytest.mark.parametrize(
    "cut",
    [
        (HEAD, b'5\r\n{"hea\r\n'),
        (HEAD, b'5\r\n{"hea\r\n0\r\n\r\n'),
        (HEAD, WHOLE),
        (HEAD[:30],),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n",),
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 3\r\n\r\nbad",),
        (b"nonsense\r\n\r\n",),
    ],
)
@pytest.mark.parametrize("asked", [ask, spooled])
def test_truncated_or_unexpected_answer_is_not_a_success(
    asked: Callable[[str], bytes], cut: Answer
) -> None:
    with answering(cut, cut) as url:
        assert refused(lambda: asked(url)).status == 502


def test_truncation_marked_by_the_store_is_a_timeout() -> None:
    head = HEAD.replace(b"application/sparql-results+json", b"text/csv")
    mark = b"\n##  Query cancelled due to timeout during execution   ##\n##  ****  ##\n"
    body = b"s\r\na:a" + mark
    chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    with answering((head, chunk)) as url:
        assert refused(lambda: ask(url, media_type="text/csv")).status == 504


def test_late_answer_is_a_timeout() -> None:
    with answering((HEAD, WHOLE, b"0\r\n\r\n"), pause=0.3) as url:
        assert refused(lambda: ask(url, timeout=0.2)).status == 504


def test_unreachable_store_is_503() -> None:
    found = refused(lambda: ask("http://127.0.0.1:9/twin"))
    assert found.status == 503 and "127.0.0.1:9" in found.detail
