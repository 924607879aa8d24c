"""Saved queries through the API, compared with Fuseki's time for the same query."""

import statistics
import time
from collections.abc import Callable, Iterator

import httpx

from bench.table import Figure
from queries.catalogue import load_catalogue
from tests.stack import Stack

WARM_UP = 150
ROUNDS = 60
CASES: list[tuple[str, dict[str, str | int]]] = [
    ("cache/sharing", {"host": "big", "cpu": 5, "level": 3}),
    ("cache/groups", {"host": "big", "level": 2}),
    ("cache/groups", {"host": "big"}),
    ("pinning/distinct-core", {"host": "big"}),
    ("pinning/distinct-cache", {"host": "big"}),
    ("pinning/per-socket", {"host": "big"}),
    ("pinning/per-numa", {"host": "big"}),
]


def query_figures(stack: Stack) -> Iterator[Figure]:
    """Medians of paired requests: one to the API, one to Fuseki, in turn."""
    added = []
    with httpx.Client(timeout=60) as client:
        # first: a JVM compiles frequent code, so a server's first minute differs
        cold = [_paired(client, stack, name, params, 1) for name, params in CASES]
        yield Figure("first call ever, slowest", max(cold)[0], "ms")
        for name, params in CASES:
            _paired(client, stack, name, params, WARM_UP)
        for name, params in CASES:
            api, fuseki = _paired(client, stack, name, params, ROUNDS)
            yield Figure(
                f"{_title(name, params)} through the API, warm, median",
                api,
                "ms",
                20,
                fuseki,
                "Fuseki",
            )
            added.append(api - fuseki)
    yield Figure("what the API adds to Fuseki, worst median", max(added), "ms", 5)


def _title(name: str, params: dict[str, str | int]) -> str:
    """The query and its parameters, for example `cache/sharing cpu=5 level=3`."""
    asked = [f"{key}={value}" for key, value in params.items() if key != "host"]
    return " ".join([name, *asked])


def _paired(
    client: httpx.Client,
    stack: Stack,
    name: str,
    params: dict[str, str | int],
    rounds: int,
) -> tuple[float, float]:
    saved = load_catalogue()[name]
    known = {k: v for k, v in params.items() if k in saved.params}
    text = saved.bind(known)
    accept = {"Accept": "application/sparql-results+json"}

    def through_api() -> httpx.Response:
        return client.get(f"{stack.api}/queries/{name}", params=known, headers=accept)

    def straight() -> httpx.Response:
        return client.post(
            f"{stack.fuseki}/twin/sparql", data={"query": text}, headers=accept
        )

    pairs = [(_ms(through_api), _ms(straight)) for _ in range(rounds)]
    assert through_api().json()["results"] == straight().json()["results"]
    assert through_api().json()["results"]["bindings"]
    api, fuseki = zip(*pairs, strict=True)
    return statistics.median(api), statistics.median(fuseki)


def _ms(request: Callable[[], httpx.Response]) -> float:
    started = time.perf_counter()
    request().raise_for_status()
    return (time.perf_counter() - started) * 1000
