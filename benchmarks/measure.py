"""Runs benchmarks on a host and keeps their results in the graph."""

import time
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from benchmarks.machine import Machine, ThreadSet, machine_of
from benchmarks.memory_theory import memory_limit
from benchmarks.programs import Program, Target, check_installed, compiled, remove
from benchmarks.record import Benchmark, BenchmarkRun, keep_benchmark
from benchmarks.results import Result, noisy
from benchmarks.suites import Effort, Suite
from benchmarks.validation import earlier_results, processor_of, validated
from core.errors import SuperTwinError
from core.linux.ssh.address import parse_address
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.remote_hosts import address_of
from observations.errors import BenchmarkError, CpusTakenError
from observations.printed_runs import Api, PrintedRuns, printed_runs
from ontology.iris import Iris
from queries.catalogue import saved_query

TAG = "benchmark"
# Sampled during each run, so that its graph shows what the machine did.
METRICS = ("kernel.percpu.cpu.user", "kernel.percpu.cpu.steal")
_EVERY = "1s"
# A run ends after so many times its estimate, and not before so many seconds.
_TIMES, _LEAST_TIMEOUT = 10, 900.0
_TRIES, _PAUSE = 3, 0.5

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Bench:
    """Where benchmarks run: a host, the stores and the API.

    ``before`` are words that start each command on the host, such as srun's; ``run``
    then runs a request by them.
    """

    settings: Settings
    twin: Endpoint
    api: Api
    host: str
    before: tuple[str, ...] = ()
    run: Callable[[Api, Mapping[str, Any], str], PrintedRuns] = printed_runs

    def machine(self) -> Machine:
        """Return what the graph knows of the host; raises as `machine_of`."""
        return machine_of(self.twin, self.host)

    def target(self) -> Target:
        """Return where programs are compiled; raises NoAddressError."""
        address = None
        if self.host != self.settings.host and not self.before:
            address = parse_address(address_of(self.twin, self.host))
        return Target(self.host, address, self.settings.ssh_config, self.before)


def measure(
    bench: Bench, suite: Suite, sets: Sequence[ThreadSet], effort: Effort, say: Progress
) -> Iterator[BenchmarkRun]:
    """Run a suite on each thread set; keep, and yield, the results of each run.

    Results are in the graph as soon as their run is over, so an interrupt loses only
    those of the running one. Raises the errors of `compiled`, of the API and of runs.
    """
    target = bench.target()
    program, metrics = _program(suite, target, effort), _metrics(bench)
    task = _Task(bench, suite, effort, bench.machine(), program, metrics)
    try:
        yield from _measured(task, sets, say)
    finally:
        remove(task.program, target)


def _measured(
    task: "_Task", sets: Sequence[ThreadSet], say: Progress
) -> Iterator[BenchmarkRun]:
    bench, suite = task.bench, task.suite
    benchmark = Benchmark(
        f"{suite.name}-{bench.host}-{time.time_ns() // 1_000_000}",
        *(suite.name, suite.title, bench.host, task.program, datetime.now(UTC)),
    )
    processor, governor = processor_of(bench.twin, bench.host)
    earlier = earlier_results(bench.twin, bench.host, suite.name)
    for each in sets:
        say(f"{suite.title}: {each.count} of {bench.host}'s CPUs ({each.policy})")
        run = task.quiet_run(each, say)
        cores = task.machine.cores_of(run.cpus)
        memory = memory_limit(bench.twin, task.machine, run.cpus)
        found = validated(run.results, cores, processor, governor, earlier, memory)
        benchmark.runs.append(replace(run, results=found))
        keep_benchmark(benchmark, bench.twin, Iris(bench.settings.base))
        yield benchmark.runs[-1]


def _metrics(bench: Bench) -> list[str]:
    """Return what can be sampled: nothing on a host without PCP."""
    pattern = {"host": bench.host, "pattern": "kernel.percpu.cpu.*"}
    rows = bench.twin.table(saved_query("telemetry/names").bind(pattern)).records()
    known = {str(row["metric"]) for row in rows if row["exposed"]}
    return [name for name in METRICS if name in known]


def _program(suite: Suite, target: Target, effort: Effort) -> Program:
    if suite.needs:
        check_installed(suite.needs, target)
    if suite.check:
        suite.check(target, effort)
    if not suite.flags:
        return suite.program
    return compiled(suite.name, suite.flags, target, suite.compiler)


@dataclass(frozen=True)
class _Task:
    """A suite that runs on some thread sets of a host."""

    bench: Bench
    suite: Suite
    effort: Effort
    machine: Machine
    program: Program
    metrics: Sequence[str]

    def quiet_run(self, threads: ThreadSet, say: Progress) -> BenchmarkRun:
        """Run the suite, and again if others disturb it; return the quieter run."""
        first = self._run(threads, say)
        if not noisy(first.results):
            return first
        say("  other programs used the CPUs meanwhile: running it again")
        return min(first, self._run(threads, say), key=_disturbance)

    def _run(self, threads: ThreadSet, say: Progress) -> BenchmarkRun:
        chosen = self._placed(threads)
        words = self.suite.command(
            self.program.path, self.machine, chosen["cpus"], self.effort
        )
        began = time.time()
        body = self._body(threads, words)
        runs = self._observed(body, say)
        span = began, time.time()
        if len(runs.output) != 1:
            raise BenchmarkError(f"{self.suite.title} printed nothing: run it again")
        ((id_, printed),) = runs.output.items()
        queries = tuple(query["answer"] for query in chosen["queries"])
        results = known_disks(self.suite.read(printed), self.machine.disks)
        found = tuple(timed(one, *span) for one in results)
        return BenchmarkRun(id_, threads.policy, tuple(runs.cpus), queries, found)

    def _observed(self, body: dict[str, Any], say: Progress) -> PrintedRuns:
        """Run a request; if its CPUs are taken, say by what, and wait for them."""
        for _ in range(_TRIES):
            try:
                return self.bench.run(self.bench.api, body, self.suite.title)
            except SuperTwinError as error:
                if error.code != CpusTakenError.code:
                    raise
                taken = str(error).partition(": ")[0]
            # The run before may still be recorded.
            time.sleep(_PAUSE)
        say(f"  waiting for CPUs: {taken}")
        return self.bench.run(self.bench.api, {**body, "wait": True}, self.suite.title)

    def _body(self, threads: ThreadSet, words: Sequence[str]) -> dict[str, Any]:
        bench = self.bench
        return {
            "argv": [*words],
            "host": bench.host if bench.host != bench.settings.host else "",
            "pin": threads.policy,
            "threads": str(threads.count),
            "metrics": self.metrics,
            "every": _EVERY,
            # Ends a run whose client was killed.
            "timeout": max(
                _TIMES * self.suite.seconds(self.machine, self.effort), _LEAST_TIMEOUT
            ),
            "tags": [TAG, self.suite.name],
        }

    def _placed(self, threads: ThreadSet) -> Any:
        """Ask which CPUs a policy chooses, as the sizes of memory depend on them."""
        asked = {
            "host": self.bench.host,
            "policy": threads.policy,
            "threads": threads.count,
        }
        return self.bench.api.ask("GET", f"/pin?{urlencode(asked)}")


def known_disks(results: Iterable[Result], disks: Collection[str]) -> Iterator[Result]:
    """Yield results without the disks that are not in the twin."""
    for one in results:
        yield one if one.disk in disks else replace(one, disk="")


def timed(result: Result, began: float, ended: float) -> Result:
    """Give a result that has no times those of its run."""
    return result if result.ended else replace(result, began=began, ended=ended)


def _disturbance(run: BenchmarkRun) -> float:
    return sum((one.other or 0.0) + (one.stolen or 0.0) for one in run.results)
