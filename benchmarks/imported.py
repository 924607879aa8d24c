"""Keeps results in files that benchmarks wrote elsewhere."""

import os
import stat
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.errors import BenchmarkOutputError
from benchmarks.machine import disks_of
from benchmarks.measure import Bench, Progress, known_disks, timed
from benchmarks.programs import Program
from benchmarks.record import Benchmark, BenchmarkRun, keep_benchmark
from benchmarks.results import Result
from benchmarks.suites import Suite
from ontology.iris import Iris
from queries.catalogue import saved_query
from queries.errors import UnknownHostError

_MOST_MEBIBYTES = 64
# Seconds since 1970: the year 2200.
_LATEST = 7_258_118_400


def import_results(
    bench: Bench, suite: Suite, file: Path, say: Progress
) -> BenchmarkRun:
    """Keep the results in an output of a benchmark, and return them as a run.

    Their time is that of the file. Raises BenchmarkOutputError, UnknownHostError and
    the errors of opening a file; then the graph is as before.
    """
    _check_host(bench)
    found, missing, written = _read(suite, file)
    results = known_disks(found, disks_of(bench.twin, bench.host))
    kept = tuple(timed(one, written, written) for one in results)
    run = BenchmarkRun("", "", (), (), kept)
    benchmark = Benchmark(
        f"{suite.name}-{bench.host}-{time.time_ns() // 1_000_000}",
        *(suite.name, suite.title, bench.host, Program()),
        datetime.fromtimestamp(written, UTC),
        [run],
        _printable(file.name),
    )
    keep_benchmark(benchmark, bench.twin, Iris(bench.settings.base))
    if missing:
        say(f"left out, because they were not measured: {', '.join(missing)}")
    say(f"kept as {benchmark.id}: `supertwin forget {benchmark.id}` removes it")
    return run


def _check_host(bench: Bench) -> None:
    query = saved_query("inventory/hosts").bind({})
    if bench.host not in {row["host"] for row in bench.twin.table(query).records()}:
        raise UnknownHostError(
            f"no host {bench.host}: `supertwin query inventory/hosts` lists the hosts"
        )


def _read(suite: Suite, file: Path) -> tuple[list[Result], list[str], float]:
    """Return the results of a file, what it lacks, and when it was written."""
    try:
        text, written = _content(file)
        return suite.read(text), suite.missing(text), written
    except BenchmarkOutputError as error:
        name = _printable(str(file))
        raise BenchmarkOutputError(
            f"{name} cannot be imported as an output of {suite.title}: {error}"
        ) from None


def _content(file: Path) -> tuple[str, float]:
    # Without O_NONBLOCK, a pipe without a writer would block.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as opened:
        about, most = os.fstat(descriptor), _MOST_MEBIBYTES << 20
        if not stat.S_ISREG(about.st_mode):
            raise BenchmarkOutputError("it is not a regular file")
        if not 0 <= about.st_mtime <= _LATEST:
            raise BenchmarkOutputError("its time is not between 1970 and 2200")
        content = b"" if about.st_size > most else opened.read(most + 1)
    if not 0 < len(content) <= most:
        raise BenchmarkOutputError(f"it is empty or exceeds {_MOST_MEBIBYTES} MiB")
    return content.decode("utf-8", errors="replace"), about.st_mtime


def _printable(name: str) -> str:
    """Return the name or path of a file without what is not UTF-8 or not printable."""
    readable = os.fsencode(name).decode("utf-8", errors="replace")
    return "".join(one if one.isprintable() else "\ufffd" for one in readable)
