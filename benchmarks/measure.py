"""Runs benchmarks on a host and keeps their results in the graph."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from benchmarks.machine import Machine, ThreadSet, machine_of
from benchmarks.programs import Program, compiled
from benchmarks.record import Benchmark, BenchmarkRun, keep_benchmark
from benchmarks.results import Result, noisy, read_results
from benchmarks.suites import Effort, Suite
from benchmarks.validation import earlier_results, processor_of, validated
from core.linux.ssh.address import Address, parse_address
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.remote_hosts import address_of
from observations.printed_runs import Api, printed_runs
from ontology.iris import Iris

TAG = "benchmark"
# Sampled during each run, so that its graph shows what the machine did.
METRICS = ("kernel.percpu.cpu.user", "kernel.percpu.cpu.steal")
_EVERY = "1s"
# A result that others disturbed is measured this often before it is kept and marked.
_ATTEMPTS = 2

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Bench:
    """Where benchmarks run: a host, the stores and the API."""

    settings: Settings
    twin: Endpoint
    api: Api
    host: str

    def machine(self) -> Machine:
        """Return what the graph knows of the host; raises BenchmarkMachineError."""
        return machine_of(self.twin, self.host)

    def address(self) -> Address | None:
        """Return the address of a host that is not this machine."""
        if self.host == self.settings.host:
            return None
        return parse_address(address_of(self.twin, self.host))


def measure(
    bench: Bench, suite: Suite, sets: Sequence[ThreadSet], effort: Effort, say: Progress
) -> Iterator[BenchmarkRun]:
    """Run a suite on each thread set; keep, and yield, the results of each run.

    Results are in the graph as soon as their run is over, so an interrupt loses only
    those of the running one. Raises the errors of `compiled`, of the API and of runs.
    """
    machine, iris = bench.machine(), Iris(bench.settings.base)
    config = bench.settings.ssh_config
    program = compiled(suite.name, suite.flags, bench.host, bench.address(), config)
    benchmark = Benchmark(
        f"{suite.name}-{bench.host}-{time.time_ns() // 1_000_000}",
        *(suite.name, suite.title, bench.host, program, datetime.now(UTC)),
    )
    processor, governor = processor_of(bench.twin, bench.host)
    earlier = earlier_results(bench.twin, bench.host, suite.name)
    for each in sets:
        say(f"{suite.title}: {each.count} of {bench.host}'s CPUs ({each.policy})")
        run = _quiet_run(bench, suite, each, effort, machine, program, say)
        cores = machine.cores_of(run.cpus)
        found = validated(run.results, cores, processor, governor, earlier)
        run = replace(run, results=found)
        benchmark.runs.append(run)
        keep_benchmark(benchmark, bench.twin, iris)
        yield run


def _quiet_run(
    bench: Bench,
    suite: Suite,
    threads: ThreadSet,
    effort: Effort,
    machine: Machine,
    program: Program,
    say: Progress,
) -> BenchmarkRun:
    """Run a suite, and again if others disturb it; return the least disturbed run."""
    runs: list[BenchmarkRun] = []
    while len(runs) < _ATTEMPTS:
        runs.append(_run(bench, suite, threads, effort, machine, program))
        if not noisy(runs[-1].results):
            return runs[-1]
        say("  other programs used the CPUs meanwhile: running it again")
    return min(runs, key=_disturbance)


def _disturbance(run: BenchmarkRun) -> float:
    return sum(result.other + result.stolen for result in run.results)


def _run(
    bench: Bench,
    suite: Suite,
    threads: ThreadSet,
    effort: Effort,
    machine: Machine,
    program: Program,
) -> BenchmarkRun:
    chosen = _placed(bench, threads)
    cpus = tuple(chosen["cpus"])
    body = {
        "argv": [program.path, *suite.arguments(machine, cpus, effort)],
        "host": bench.host if bench.host != bench.settings.host else "",
        "pin": threads.policy,
        "threads": str(threads.count),
        "metrics": [*METRICS],
        "every": _EVERY,
        # The run before may still be recorded.
        "wait": True,
        "tags": [TAG, suite.name],
    }
    runs = printed_runs(bench.api, body)
    ((id_, printed),) = runs.output.items()
    queries = tuple(query["answer"] for query in chosen["queries"])
    found = tuple(read_results(printed))
    return BenchmarkRun(id_, threads.policy, tuple(runs.cpus), queries, found)


def _placed(bench: Bench, threads: ThreadSet) -> Any:
    """Ask which CPUs a policy chooses, as the sizes of memory depend on them."""
    asked = {"host": bench.host, "policy": threads.policy, "threads": threads.count}
    return bench.api.ask("GET", f"/pin?{urlencode(asked)}")


def all_results(runs: Sequence[BenchmarkRun]) -> list[Result]:
    """Return the results of some runs, in their order."""
    return [result for run in runs for result in run.results]
