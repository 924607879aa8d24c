"""The service around the endpoint: what the API adds, and many readers at once."""

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import count
from urllib.parse import urlsplit

import httpx
import uvloop

from api.access.tokens import TokenRole, add_token
from bench.table import Figure
from core.stores.scope import Scope
from tests.stack import Stack

CLIENTS, SECONDS, WARM_UP_S = 32, 5.0, 3.0
THREADS = 128
ROUNDS, WARM_UP = 300, 300
QUERY = "SELECT ?s { ?s a <https://w3id.org/supertwin/ns#ComputeNode> } LIMIT 1"

# Threads with their caches: a query that reads a few thousand triples.
CACHES = """PREFIX st: <https://w3id.org/supertwin/ns#>
SELECT ?cpu ?cache ?size { ?thread a st:HardwareThread ; st:osIndex ?cpu ;
  st:usesCache ?cache . ?cache st:cacheSize ?size }"""

# The path and the Accept header of the next request.
Next = Callable[[], tuple[str, str]]


def service_figures(stack: Stack) -> Iterator[Figure]:
    """Readers of components of the host of `twin`, and single queries."""
    yield _added_to_sparql(stack)
    yield from _added_by_scope(stack)
    for name, following, goal in (
        ("kept", _same(), 2800),
        ("not kept", _different(), 600),
    ):
        _read(stack, following, WARM_UP_S)
        latencies, seconds = _read(stack, following, SECONDS)
        yield Figure(
            f"component documents, {CLIENTS} clients, {name}: reads/s",
            len(latencies) / seconds,
            "",
            goal,
            at_least=True,
        )
        p99 = statistics.quantiles(latencies, n=100)[-1]
        yield Figure("  99th percentile", p99 * 1000, "ms", 50)


def _added_to_sparql(stack: Stack) -> Figure:
    form = {"query": QUERY}
    accept = {"Accept": "application/sparql-results+json"}
    with httpx.Client(timeout=60, headers=accept) as client:

        def ms(url: str) -> float:
            started = time.perf_counter()
            client.post(url, data=form).raise_for_status()
            return (time.perf_counter() - started) * 1000

        ways = (f"{stack.api}/sparql", f"{stack.fuseki}/twin/sparql")
        pairs = [tuple(ms(url) for url in ways) for _ in range(WARM_UP + ROUNDS)]
    api, fuseki = zip(*pairs[WARM_UP:], strict=True)
    added = statistics.median(a - f for a, f in pairs[WARM_UP:])
    return Figure(
        f"/sparql adds to Fuseki's own {statistics.median(fuseki):.2f} ms, median",
        added,
        "ms",
        1.5,
    )


def _added_by_scope(stack: Stack) -> Iterator[Figure]:
    """What the scope of a token adds to queries that find the same with and without."""
    role, scope = TokenRole.READER, Scope(hosts=("big",))
    whole = add_token(stack.home, "whole", role, None)
    limited = add_token(stack.home, "limited", role, None, scope)
    for name, query in (("one host", QUERY), ("caches of its threads", CACHES)):
        pairs = _pairs(f"{stack.api}/sparql", query, (limited, whole))
        usual = statistics.median(without for _, without in pairs)
        yield Figure(
            f"a scoped token adds to a query of {usual:.1f} ms ({name}), median",
            statistics.median(with_it - without for with_it, without in pairs),
            "ms",
            2,
        )


def _pairs(url: str, query: str, tokens: tuple[str, str]) -> list[tuple[float, float]]:
    """Return the milliseconds of a query with each of two tokens, in turns."""
    accept = {"Accept": "application/sparql-results+json"}
    with httpx.Client(timeout=60, headers=accept) as client:

        def ms(token: str) -> float:
            started = time.perf_counter()
            headers = {"Authorization": f"Bearer {token}"}
            answer = client.post(url, data={"query": query}, headers=headers)
            answer.raise_for_status()
            return (time.perf_counter() - started) * 1000

        first, second = tokens
        pairs = [(ms(first), ms(second)) for _ in range(WARM_UP + ROUNDS)]
    return pairs[WARM_UP:]


def _same() -> Next:
    """Return requests for the same documents again and again."""
    numbers = count()
    return lambda: (f"/twin/big/thread/{next(numbers) % THREADS}", "text/turtle")


def _different() -> Next:
    """Return requests of which none was made before: each accepts another type."""
    numbers = count()

    def following() -> tuple[str, str]:
        number = next(numbers)
        path = f"/twin/big/thread/{number % THREADS}"
        return path, f"text/turtle, text/x-{number};q=0.1"

    return following


def _read(stack: Stack, following: Next, seconds: float) -> tuple[list[float], float]:
    """Read for some seconds; return the seconds of each read, and of all together."""
    return uvloop.run(_read_all(urlsplit(stack.api).netloc, following, seconds))


async def _read_all(
    address: str, following: Next, seconds: float
) -> tuple[list[float], float]:
    started = time.perf_counter()
    end = started + seconds
    found = await asyncio.gather(
        *(_client(address, following, end) for _ in range(CLIENTS))
    )
    took = time.perf_counter() - started
    return [latency for latencies in found for latency in latencies], took


async def _client(address: str, following: Next, end: float) -> list[float]:
    """Read over one connection; httpx would need more CPU time than the API."""
    host, _, port = address.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    latencies = []
    while (started := time.perf_counter()) < end:
        path, accept = following()
        lines = (f"GET {path} HTTP/1.1", f"Host: {address}", f"Accept: {accept}")
        writer.write("\r\n".join((*lines, "", "")).encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
        latencies.append(time.perf_counter() - started)
    writer.close()
    return latencies
