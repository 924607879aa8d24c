"""A benchmark of a host as triples, in a graph of its own."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

from rdflib import PROV, XSD, Literal, URIRef

from benchmarks.programs import Program
from benchmarks.results import Result
from core.stores.endpoint import Endpoint
from ingest.entailed import drop, with_entailed
from ingest.triples import Triples, insertion
from observations.describe import Properties
from observations.store import check_shapes
from ontology.iris import Iris
from ontology.terms import QUDT, ST, UNIT

_DIGITS = 9
# Takes the place of a run in the IRIs of results that were imported. A file may have
# results of several numbers of threads.
_IMPORTED = "imported-{threads}"


@dataclass(frozen=True)
class BenchmarkRun:
    """One run of a benchmark: an observation, its CPUs and its results.

    ``queries`` are the addresses of the saved queries that chose the CPUs. A run that
    was imported has only results.
    """

    observation: str
    policy: str
    cpus: tuple[int, ...]
    queries: tuple[str, ...]
    results: tuple[Result, ...]


@dataclass(frozen=True)
class Benchmark:
    """A benchmark of a host with all its runs so far.

    ``file`` is the name of the file that it was imported from.
    """

    id: str
    suite: str
    title: str
    host: str
    program: Program
    started: datetime
    runs: list[BenchmarkRun] = field(default_factory=list)
    file: str = ""


def keep_benchmark(benchmark: Benchmark, twin: Endpoint, iris: Iris) -> None:
    """Write a benchmark, replacing its earlier state; raises NotRecordedError."""
    triples = describe_benchmark(benchmark, iris)
    check_shapes(triples, twin)
    graph = iris.benchmark_graph(benchmark.id)
    written = insertion(with_entailed({graph: triples}, iris))
    twin.update(f"{drop(iris, graph)} ;\n{written}")


def describe_benchmark(benchmark: Benchmark, iris: Iris) -> Triples:
    """Return the triples of a benchmark's graph."""
    triples, node = Triples(), iris.benchmark(benchmark.id)
    program = benchmark.program
    triples.node(
        node,
        ST.BenchmarkInterface,
        {
            ST.ofHost: iris.host(benchmark.host),
            ST.benchmarkSuite: benchmark.suite,
            PROV.startedAtTime: _time(benchmark.started),
            ST.compiledBy: program.compiler or None,
            ST.compilerFlags: " ".join(program.flags) or None,
            ST.sourceDigest: program.digest or None,
            ST.importedFrom: benchmark.file or None,
        },
        label=benchmark.title,
    )
    for run in benchmark.runs:
        for result in run.results:
            _describe_result(triples, node, benchmark, run, result, iris)
    return triples


def _describe_result(
    triples: Triples,
    node: URIRef,
    benchmark: Benchmark,
    run: BenchmarkRun,
    result: Result,
    iris: Iris,
) -> None:
    run_id = run.observation
    of = run_id or _IMPORTED.format(threads=result.threads)
    part = iris.benchmark_result(benchmark.id, of, result.id)
    triples.link(node, {ST.hasResult: part})
    triples.node(
        part,
        ST.BenchmarkResult,
        {
            ST.ofBenchmark: node,
            ST.observedIn: iris.observation(run_id) if run_id else None,
            **_placement(benchmark.host, run, result, iris),
            **_settings(benchmark.host, result, iris),
            **_figures(result),
            PROV.startedAtTime: _time(_at(result.began)),
            PROV.endedAtTime: _time(_at(result.ended)),
        },
    )


def _placement(host: str, run: BenchmarkRun, result: Result, iris: Iris) -> Properties:
    """Return where a result was measured: its host and threads, and their choice."""
    return {
        ST.ofHost: iris.host(host),
        ST.threadCount: result.threads,
        ST.involvesThread: [
            iris.component(host, "thread", str(cpu)) for cpu in run.cpus
        ],
        ST.pinningPolicy: run.policy or None,
        ST.pinningQuery: map(URIRef, run.queries),
    }


def _settings(host: str, result: Result, iris: Iris) -> Properties:
    """Return what a result is of: its kernel, and the sizes and kinds of its data."""
    return {
        ST.field: result.kernel,
        ST.modifier: result.variant,
        ST.instructionSet: result.isa,
        ST.precision: result.precision,
        ST.memoryLevel: result.level,
        ST.storeKind: result.stores,
        ST.pageKind: result.pages,
        ST.workingSetSize: result.size or None,
        ST.matrixOrder: result.order,
        ST.matrixBandwidth: result.bandwidth,
        ST.transferSize: result.transfer,
        ST.measuredWith: result.tool or None,
        ST.fileSystem: result.system or None,
        ST.onDisk: _disk(host, result, iris),
    }


def _disk(host: str, result: Result, iris: Iris) -> URIRef | None:
    return iris.component(host, "disk", result.disk) if result.disk else None


def _figures(result: Result) -> Properties:
    return {
        ST.resultValue: _decimal(result.value),
        ST.bestValue: _decimal(result.best),
        ST.lowerBound: _decimal(result.low),
        ST.upperBound: _decimal(result.high),
        QUDT.hasUnit: UNIT[result.unit],
        ST.repetitions: result.repeats,
        ST.otherLoad: _decimal(result.other),
        ST.stolenTime: _decimal(result.stolen),
        ST.theoreticalValue: _decimal(result.theory),
        ST.concern: [*result.concerns, *result.doubts],
    }


def _decimal(value: float | None) -> Literal | None:
    return None if value is None else Literal(Decimal(f"{value:.{_DIGITS}g}"))


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _time(when: datetime) -> Literal:
    return Literal(when.isoformat(timespec="milliseconds"), datatype=XSD.dateTime)


def lines(results: Iterable[Result]) -> list[str]:
    """Format a line for each result: what, how much, and how sure."""
    return [_line(result) for result in results]


_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SYMBOLS = {"FLOPS": "FLOP/s", "BYTE-PER-SEC": "B/s", "HZ": "Hz"}
_SYMBOLS |= {"NanoSEC": "ns", "NUM-PER-SEC": "/s"}


def _line(result: Result) -> str:
    about = f"{result.kernel}, {result.variant}"
    interval = ""
    if result.low is not None and result.high is not None:
        interval = f"  {_scaled(result.low, '')} to {_scaled(result.high, '')}"
    concerns = [*result.concerns, *result.doubts]
    concern = f"  ({'; '.join(concerns)})" if concerns else ""
    value = _scaled(result.value, _SYMBOLS[result.unit])
    return f"{about:48} {value:>14}{interval}{concern}"


def _scaled(value: float, symbol: str) -> str:
    if symbol == "ns":
        return f"{value:.2f} ns"
    factor, prefix = next((f, p) for f, p in _PREFIXES if value >= f or f == 1.0)
    return f"{value / factor:.2f} {prefix}{symbol}".rstrip()
