"""Saved queries through the API, beside Fuseki's own time for the same query."""

import statistics
import time
from collections.abc import Callable

import httpx

from queries.catalogue import load_catalogue
from tests.bench.table import Figure
from tests.stack import Stack

ROUNDS = 60
CASES: list[tuple[str, dict[str, str | int]]] = [
    ("cache/sharing", {"host": "big", "cpu": 5, "level": 3}),
    ("cache/groups", {"host": "big"}),
    ("pinning/distinct-core", {"host": "big"}),
    ("pinning/distinct-cache", {"host": "big"}),
    ("pinning/per-socket", {"host": "big"}),
    ("pinning/per-numa", {"host": "big"}),
]


def query_figures(stack: Stack) -> list[Figure]:
    """Medians over paired requests: one to the API, one to Fuseki, in turn."""
    figures, added = [], []
    with httpx.Client(timeout=60) as client:
        for name, params in CASES:
            api, fuseki = _paired(client, stack, name, params)
            figures.append(
                Figure(
                    f"{name} through the API, median", api, "ms", 20, fuseki, "Fuseki"
                )
            )
            added.append(api - fuseki)
    figures.append(
        Figure("what the API adds to Fuseki, worst median", max(added), "ms", 5)
    )
    return figures


def _paired(
    client: httpx.Client, stack: Stack, name: str, params: dict[str, str | int]
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

    assert through_api().json()["results"] == straight().json()["results"]
    assert through_api().json()["results"]["bindings"]
    pairs = [(_ms(through_api), _ms(straight)) for _ in range(ROUNDS)]
    api, fuseki = zip(*pairs[ROUNDS // 6 :], strict=True)
    return statistics.median(api), statistics.median(fuseki)


def _ms(request: Callable[[], httpx.Response]) -> float:
    started = time.perf_counter()
    request().raise_for_status()
    return (time.perf_counter() - started) * 1000
