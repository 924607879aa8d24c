"""Saved queries over 10,000 runs on 1,000 hosts, through the API."""

import statistics
import time
from collections.abc import Iterator

import httpx

from bench.table import Figure
from core.settings.settings import Settings
from ingest.triples import Triples, quads
from observations.describe import describe_observation
from observations.record import Observation, Run, RunSpec, Summary
from observations.statistics import Span, Statistics
from ontology.iris import Iris
from ontology.selectors import series_name
from ontology.terms import ST

KINDS, HOSTS_EACH, ROUNDS = 100, 100, 15
METRICS = (
    *("mem.vmstat.pgfault", "kernel.all.pswitch", "kernel.all.intr", "mem.util.free"),
    *("disk.all.read", "disk.all.write", "proc.psinfo.minflt", "proc.psinfo.utime"),
)
_START_MS, _DAY_MS = 1_780_000_000_000, 86_400_000
_POLICIES = ("compact", "scatter", "distinct:l3", "")
_GOAL_MS = 500
# Queries about one run, about a group of ten, and about all runs.
RUN, GROUP = "run-7-7", "group-7-0"
ASKED: list[tuple[str, dict[str, str]]] = [
    ("runs", {"id": RUN}),
    ("runs", {"group": GROUP}),
    ("runs", {"tag": "night-3"}),
    ("runs", {"text": "solver-7"}),
    ("runs", {"pinned": "scatter", "host": "node7"}),
    ("runs", {"since": "2026-05-30", "until": "2026-05-31"}),
    ("runs", {}),
    ("statistics", {"id": RUN}),
    ("series", {"id": RUN}),
    ("properties", {"id": RUN}),
    ("by-metric", {"above": "90000"}),
    ("by-metric", {"above": "1", "text": "solver-7", "numa": "8"}),
    ("outliers", {"numa": "8"}),
    ("outliers", {"figure": "mem.vmstat.pgfault", "times": "1.5"}),
    ("baselines", {}),
]
_TABLE = {"Accept": "application/sparql-results+json"}


def observation_figures(api: str, store: str) -> Iterator[Figure]:
    """Median times of each query, through an API with hosts node0, node1, …"""
    began = time.monotonic()
    runs = fill(store)
    took = time.monotonic() - began
    yield Figure(f"{runs:,} runs written in bulk", took, "s")
    with httpx.Client(timeout=60) as client:
        for name, params in ASKED:
            spent = _ms(client, api, name, params)
            yield Figure(_title(name, params), spent, "ms", _GOAL_MS)


def fill(store: str) -> int:
    """Write the runs as N-Quads; return their number."""
    headers = {"Content-Type": "application/n-quads"}
    for body in (_metrics(), *map(_runs_of, range(KINDS))):
        httpx.post(
            f"{store}/twin/data", content=body, headers=headers, timeout=300
        ).raise_for_status()
    return KINDS * HOSTS_EACH


def _title(name: str, params: dict[str, str]) -> str:
    arguments = " ".join(f"{key}={value}" for key, value in params.items())
    return f"observations/{name} {arguments}".strip() + ", warm, median"


def _ms(client: httpx.Client, api: str, name: str, params: dict[str, str]) -> float:
    asked = params | ({"id": str(_iris().observation(RUN))} if "id" in params else {})
    spent = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        answer = client.get(
            f"{api}/queries/observations/{name}", params=asked, headers=_TABLE
        ).raise_for_status()
        spent.append(1000 * (time.perf_counter() - began))
    assert answer.json()["results"]["bindings"] or name == "baselines", (name, params)
    return statistics.median(spent[ROUNDS // 3 :])


def _iris() -> Iris:
    return Iris(Settings().base)


def _metrics() -> bytes:
    triples, iris = Triples(), _iris()
    for name in METRICS:
        known = {ST.samplerName: name, ST.dbName: series_name(name)}
        triples.node(iris.metric(name), ST.Metric, known)
    return quads({iris.metrics_graph: triples})


def _runs_of(kind: int) -> bytes:
    """Runs of one program on many hosts: described once, then written for each."""
    iris = _iris()
    triples = describe_observation(_observation(kind), iris)
    body = quads({iris.observation_graph("RUNID"): triples}).decode()
    return "".join(
        body.replace("RUNID", f"run-{kind}-{number}")
        .replace("GROUPID", f"group-{kind}-{number // 10}")
        .replace("HOSTNAME", f"node{(kind * 7 + number * 10) % 1000}")
        for number in range(HOSTS_EACH)
    ).encode()


def _observation(kind: int) -> Observation:
    start = _START_MS + kind * _DAY_MS
    program = f"/opt/bin/solver-{kind % 20}"
    asked = RunSpec(
        "HOSTNAME",
        (program, "-n", str(kind)),
        (0, 1),
        policy=_POLICIES[kind % len(_POLICIES)],
        tags=(f"night-{kind % 10}",),
        group="GROUPID",
        repetition=kind + 1,
    )
    return Observation(
        "RUNID", asked, _run(kind, start, program), {}, list(_summaries(kind))
    )


def _run(kind: int, start: int, program: str) -> Run:
    usage = {
        "user_seconds": 1.5,
        "system_seconds": 0.5,
        # Every eighth kind of run has far more faults than others of its program.
        "minor_faults": 1000 * (1 + 50 * (kind % 8 == 0)) + kind,
        "major_faults": kind,
        "voluntary_switches": 10,
        "involuntary_switches": 20,
        "max_rss_kib": 1000 + kind,
    }
    started = {"pid": 1000 + kind, "start_ticks": 5, "boot": "b", "start_ns": start}
    ended = {"exit": 0, "signal": None, "timed_out": False, "cancelled": False}
    about = {
        "system": {"kernel": "6.1.0", "smt": "on"},
        "kernel_arguments": [],
        "governors": ["performance"],
        "environment": {"OMP_NUM_THREADS": "2", "PATH": "/usr/bin"},
        "program": {
            "path": program,
            "sha256": "0" * 64,
            "compilers": ["GCC 12.2.0"],
            "libraries": ["/lib/libc.so.6", "/lib/libm.so.6"],
        },
    }
    span = Span(start, start + 1000 * (1 + kind % 9))
    return Run(started, span, {**ended, "rusage": usage, "output": {}}, about)


def _summaries(kind: int) -> Iterator[Summary]:
    for place, name in enumerate(METRICS):
        mean = 1000.0 * (kind + 1) + place
        figures = Statistics(100, 1.0, mean, 2 * mean, mean, 1.9 * mean, 9 * mean, 9.0)
        yield Summary(name, str(_iris().metric(name)), None, figures)
