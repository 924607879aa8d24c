"""The roofline of a host with a thousand runs, as JSON and as a page."""

import statistics
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import httpx
from rdflib import URIRef

from bench.table import Figure
from benchmarks.programs import Program
from benchmarks.record import Benchmark, BenchmarkRun, describe_benchmark
from benchmarks.results import Result
from benchmarks.roofline_rows import QUERIES
from ingest.triples import Triples, quads
from observations.describe import describe_observation
from observations.record import DerivedFigure, Observation, Run, RunSpec
from observations.statistics import Span
from ontology.iris import Iris
from queries.catalogue import saved_query
from tests.stack import HOST, Stack

POINTS, ROUNDS = 1_000, 40
# A JVM compiles frequent code, so the first calls of a server differ.
WARM_UP = 150
_START_MS = 1_780_000_000_000
_LEVELS = {"L1": 5e11, "L2": 1e11, "L3": 5e10, "DRAM": 2e10}
_USED = (
    *("user_seconds", "system_seconds", "minor_faults", "major_faults"),
    *("voluntary_switches", "involuntary_switches", "max_rss_kib"),
)
_ISAS = {"scalar": 8e9, "sse": 1.6e10, "avx": 3.2e10, "avx512": 6.4e10}


def roofline_figures(stack: Stack) -> Iterator[Figure]:
    """Medians of requests, with few points, and with a thousand."""
    with httpx.Client(timeout=60, base_url=stack.api) as client:
        _write(stack, _roofs(Iris(stack.base)))
        _ms(lambda: client.get(f"/roofline/{HOST}"), WARM_UP)
        yield _document(client, stack, 0)
        _write(stack, *(_run(each, Iris(stack.base)) for each in range(POINTS)))
        yield _document(client, stack, POINTS)
        accept = {"Accept": "text/html"}
        page = _ms(lambda: client.get(f"/roofline/{HOST}", headers=accept))
        yield Figure(f"roofline with {POINTS} runs, page", page, "ms", 300)


def _document(client: httpx.Client, stack: Stack, points: int) -> Figure:
    """Compare JSON with the time of its two queries, one after the other."""
    accept = {"Accept": "application/json"}
    texts = [saved_query(name).bind({"host": HOST}) for name in QUERIES]
    rows = {"Accept": "application/sparql-results+json"}

    def straight() -> None:
        for text in texts:
            url = f"{stack.fuseki}/twin/sparql"
            client.post(url, data={"query": text}, headers=rows).raise_for_status()

    def through_api() -> None:
        answer = client.get(f"/roofline/{HOST}", headers=accept).raise_for_status()
        assert len(answer.json()["points"]) == points

    name = f"roofline with {points} runs, JSON"
    goal = None if points else 50
    return Figure(name, _ms(through_api), "ms", goal, _ms(straight), "its queries")


def _ms(request: Callable[[], object], rounds: int = ROUNDS) -> float:
    spent = []
    for _ in range(rounds):
        began = time.perf_counter()
        request()
        spent.append(1000 * (time.perf_counter() - began))
    return statistics.median(spent)


def _write(stack: Stack, *graphs: tuple[URIRef, Triples]) -> None:
    form = {"Content-Type": "application/n-quads"}
    url = f"{stack.fuseki}/twin/data"
    answer = httpx.post(url, content=quads(dict(graphs)), headers=form, timeout=300)
    answer.raise_for_status()


def _roofs(iris: Iris) -> tuple[URIRef, Triples]:
    """Roofs of four levels, and of four instruction sets in two precisions."""
    clock = Result("clock", "HZ", 2, 3e9, 3e9, 10, isa="scalar")
    levels = [
        Result("load", "BYTE-PER-SEC", 2, rate, rate, 10, isa=isa, level=level)
        for level, rate in _LEVELS.items()
        for isa in _ISAS
    ]
    peaks = [
        Result(kernel, "FLOPS", 2, rate, rate, 10, isa=isa, precision=precision)
        for kernel in ("add", "fma")
        for isa, rate in _ISAS.items()
        for precision in ("double", "single")
    ]
    results = (clock, *levels, *peaks)
    run = BenchmarkRun("run-0", "compact-cores", (0, 1), (), results)
    when = datetime.fromtimestamp(_START_MS / 1000, UTC)
    about = ("roofs", "carm", "Cache-aware roofline", HOST, Program(), when)
    return iris.benchmark_graph("roofs"), describe_benchmark(
        Benchmark(*about, [run]), iris
    )


def _run(number: int, iris: Iris) -> tuple[URIRef, Triples]:
    start = _START_MS + 1000 * number
    rate, intensity = 1e9 + 1e6 * number, 0.01 * 1.01**number
    figures = [
        DerivedFigure("FLOP rate", ("FLOPs",), value=rate),
        DerivedFigure("arithmetic intensity", ("FLOPs",), value=intensity),
    ]
    started = {"pid": 1000, "start_ticks": 5, "boot": "b", "start_ns": start}
    ended = {"exit": 0, "signal": None, "timed_out": False, "cancelled": False}
    usage = dict.fromkeys(_USED, 1)
    end = {**ended, "rusage": usage, "output": {}}
    run = Run(started, Span(start, start + 900), end)
    spec = RunSpec(HOST, (f"/opt/bin/solver-{number}",), (0, 1))
    id_ = f"roofline-{number}"
    observation = Observation(id_, spec, run, {}, [], derived=figures)
    return iris.observation_graph(id_), describe_observation(observation, iris)
