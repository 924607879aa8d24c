"""Keeps results in files that benchmarks wrote elsewhere."""

import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.errors import BenchmarkOutputError
from benchmarks.machine import disks_of
from benchmarks.measure import Bench, known_disks, timed
from benchmarks.programs import Program
from benchmarks.record import Benchmark, BenchmarkRun, keep_benchmark
from benchmarks.results import Result
from benchmarks.suites import Suite
from ontology.iris import Iris
from queries.catalogue import saved_query
from queries.errors import UnknownHostError


def import_results(bench: Bench, suite: Suite, file: Path) -> BenchmarkRun:
    """Keep the results in an output of a benchmark, and return them as a run.

    Their time is that of the file. Raises BenchmarkOutputError, UnknownHostError and
    the errors of opening a file; then the graph is as before.
    """
    query = saved_query("inventory/hosts").bind({})
    if bench.host not in {row["host"] for row in bench.twin.table(query).records()}:
        raise UnknownHostError(
            f"no host {bench.host}: `supertwin query inventory/hosts` lists the hosts"
        )
    written = file.stat().st_mtime
    results = known_disks(_read(suite, file), disks_of(bench.twin, bench.host))
    found = (timed(one, written, written) for one in results)
    run = BenchmarkRun("", "", (), (), tuple(found))
    benchmark = Benchmark(
        f"{suite.name}-{bench.host}-{time.time_ns() // 1_000_000}",
        *(suite.name, suite.title, bench.host, Program()),
        datetime.fromtimestamp(written, UTC),
        [run],
        file.name,
    )
    keep_benchmark(benchmark, bench.twin, Iris(bench.settings.base))
    return run


def _read(suite: Suite, file: Path) -> list[Result]:
    try:
        return suite.read(file.read_text("utf-8", errors="replace"))
    except BenchmarkOutputError as error:
        raise BenchmarkOutputError(
            f"{file} cannot be imported as an output of {suite.title}: {error}"
        ) from None
