"""Kept answers: sent again without the graph store's help, and never an old one."""

import asyncio
import threading
from collections.abc import Iterator

import httpx
import pytest

from api.datasets.graph_version import GraphVersion
from api.known_answers import KnownAnswers, depends_only_on
from core.stores.connections import Connections
from core.stores.fuseki import GraphStore
from tests.api.servers import Api

NODE = "/twin/n1/core/core-0"
TYPES = ("application/ld+json", "text/turtle")


@pytest.fixture(scope="module")
def writer(fuseki: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=fuseki, timeout=120, trust_env=False) as client:
        yield client


def set_number(writer: httpx.Client, base: str, number: int | None) -> None:
    """Replace the number that the graph gives for a node."""
    graph, node = f"{base}/graph/twin/n1", f"{base}{NODE}"
    new = "" if number is None else f"<{node}> <urn:number> {number}"
    update = (
        f"WITH <{graph}> DELETE {{ <{node}> <urn:number> ?old }} INSERT {{ {new} }} "
        f"WHERE {{ OPTIONAL {{ <{node}> <urn:number> ?old }} }}"
    )
    writer.post("/twin/update", data={"update": update}).raise_for_status()


def number(api: httpx.Client) -> int:
    lines = api.get(NODE, headers={"Accept": "application/n-triples"}).text
    text = lines.partition("<urn:number> ")[2].partition("^^")[0]
    return int(text.strip('"'))


@pytest.mark.parametrize("media_type", TYPES)
def test_answer_is_the_same_when_it_is_sent_again(
    api: httpx.Client, media_type: str
) -> None:
    first, *others = (api.get(NODE, headers={"Accept": media_type}) for _ in range(3))
    for other in others:
        assert other.content == first.content
        assert {**other.headers} | {"date": ""} == {**first.headers} | {"date": ""}
    head = api.head(NODE, headers={"Accept": media_type})
    assert head.headers["content-length"] == first.headers["content-length"]
    page = api.get(NODE, headers={"Accept": "text/html"})
    assert page.headers["content-type"].startswith("text/html")


def test_write_is_seen_by_the_next_read(
    api: httpx.Client, writer: httpx.Client, base: str
) -> None:
    try:
        for expected in range(50):
            set_number(writer, base, expected)
            assert number(api) == expected
            assert number(api) == expected
    finally:
        set_number(writer, base, None)


def test_no_reader_sees_an_older_state_than_was_written(
    api_url: str, writer: httpx.Client, base: str
) -> None:
    written, stop, stale = [0], threading.Event(), []
    set_number(writer, base, 0)

    def read() -> None:
        with httpx.Client(base_url=api_url, timeout=120, trust_env=False) as client:
            while not stop.is_set():
                least = written[0]
                found = number(client)
                if found < least:
                    stale.append((found, least))

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    try:
        for new in range(1, 101):
            set_number(writer, base, new)
            written[0] = new
    finally:
        stop.set()
        for reader in readers:
            reader.join()
        set_number(writer, base, None)
    assert not stale


def test_kept_answer_needs_the_graph_store(
    tmp_path_factory: pytest.TempPathFactory, base: str
) -> None:
    from tests.api import graph
    from tests.servers import Fuseki

    home = tmp_path_factory.mktemp("away")
    with Fuseki(home / "fuseki") as store:
        url = f"{store.url}/twin/update"
        httpx.post(url, data={"update": graph.TWIN}).raise_for_status()
        settings = {"home": str(home), "base": base, "fuseki_url": store.url}
        with Api(home / "api", **settings) as server:
            assert httpx.get(server.url + NODE).status_code == 200
            assert httpx.get(server.url + NODE).status_code == 200
            store.clean()
            # Nobody knows whether it is still true.
            assert httpx.get(server.url + NODE).status_code == 503
            store.start()
            assert httpx.get(server.url + NODE).status_code == 200


def test_version_is_read_after_each_request_for_it(fuseki: str, base: str) -> None:
    async def versions() -> tuple[set[str], str, str]:
        async with Connections() as client:
            store = GraphStore(client, f"{fuseki}/twin", 30, 10_000)
            version = GraphVersion(store)
            same = {*await asyncio.gather(*(version.current() for _ in range(20)))}
            under_way = asyncio.ensure_future(version.current())
            await asyncio.sleep(0)
            data = f"GRAPH <{base}/graph/versions> {{ <urn:s> <urn:p> 1 }}"
            for verb in ("INSERT", "DELETE"):
                update = {"update": f"{verb} DATA {{ {data} }}"}
                httpx.post(f"{fuseki}/twin/update", data=update).raise_for_status()
            after = await version.current()
            await under_way
            return same, after, await store.version()

    same, after, now = asyncio.run(versions())
    assert len(same) == 1
    assert after == now and after not in same


class Versions(GraphVersion):
    """A version that the test sets."""

    def __init__(self) -> None:
        self.now = "1"

    async def current(self) -> str:
        return self.now


def answers(
    known: KnownAnswers, paths: list[str], sent: dict[bytes, bytes] | None = None
) -> None:
    async def ask(path: str) -> None:
        async def receive() -> dict[str, str]:
            return {"type": "http.disconnect"}

        async def send(message: object) -> None:
            pass

        scope = {"type": "http", "method": "GET", "path": path, "query_string": b""}
        await known({**scope, "headers": [*(sent or {}).items()]}, receive, send)

    async def ask_all() -> None:
        for path in paths:
            await ask(path)

    asyncio.run(ask_all())


@pytest.mark.parametrize(("size", "kept"), [(100, 40), (1_000_000, 0), (400_000, 41)])
def test_kept_answers_are_bounded(size: int, kept: int) -> None:
    made: list[str] = []

    async def app(scope, receive, send) -> None:
        from fastapi import Request

        made.append(scope["path"])
        depends_only_on(Request(scope), "1")
        start = {"type": "http.response.start", "status": 200, "headers": []}
        await send(start)
        await send({"type": "http.response.body", "body": b"x" * size})

    known = KnownAnswers(app, Versions())
    paths = [f"/{n}" for n in range(60)]
    answers(known, paths)
    answers(known, paths[-kept:] if kept else [])
    assert len(made) == 60
    assert sum(one.size for one in known._known.values()) <= 16 * 1024 * 1024
    answers(known, paths[:1])
    assert len(made) == (60 if size == 100 else 61)


def test_long_headers_of_requests_count() -> None:
    async def app(scope, receive, send) -> None:
        from fastapi import Request

        depends_only_on(Request(scope), "1")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x"})

    known = KnownAnswers(app, Versions())
    for n in range(300):
        answers(known, ["/"], {b"accept": f"{n}".encode() + b"," * 64_000})
    assert len(known._known) == 16 * 1024 * 1024 // 64_000
