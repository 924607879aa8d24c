"""Small queries of others while one client's queries explode."""

import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import httpx

from bench.table import Figure
from tests.explosions import DOUBLINGS, GROUPS, SORT, WAIT
from tests.stack import Stack

SMALL = "SELECT ?s { ?s a <https://w3id.org/supertwin/ns#ComputeNode> }"
LEAST = 500
MOST_TIMES_SLOWER = 3
EXPLOSIONS = [
    ("8 x thirty doublings fail", DOUBLINGS, 8),
    ("20 x afn:wait fail", WAIT, 20),
    ("a cross product is grouped", GROUPS, 1),
    ("a cross product is sorted", SORT, 1),
]


def explosion_figures(stack: Stack) -> Iterator[Figure]:
    """The 99th percentile, set against that without other queries."""
    with httpx.Client(base_url=stack.api, timeout=120) as client:
        _asked(client, lambda: False)  # a JVM compiles frequent code
        idle = _p99(_asked(client, lambda: False))
        for name, query, number in EXPLOSIONS:
            with ThreadPoolExecutor(number) as pool:
                sent = [pool.submit(_explode, stack, query) for _ in range(number)]
                times = _asked(client, lambda sent=sent: _runs(sent))
            what = f"small query while {name}, 99th percentile"
            goal = MOST_TIMES_SLOWER * idle
            yield Figure(what, _p99(times), "ms", goal, idle, "idle")


def _explode(stack: Stack, query: str) -> None:
    answer = httpx.post(f"{stack.api}/sparql", data={"query": query}, timeout=240)
    assert answer.is_error, answer.text[:100]


def _runs(sent: list[Future[None]]) -> bool:
    return not all(one.done() for one in sent)


def _asked(client: httpx.Client, goes_on: Callable[[], bool]) -> list[float]:
    times: list[float] = []
    while len(times) < LEAST or goes_on():
        started = time.perf_counter()
        client.post("/sparql", data={"query": SMALL}).raise_for_status()
        times.append((time.perf_counter() - started) * 1000)
    return times


def _p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[-1]
