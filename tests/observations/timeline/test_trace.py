"""Runs as traces: their times, their regions and their samples, from real stores."""

import json
import tracemalloc
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdflib import URIRef

from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from core.stores.series_writing import line, write_lines
from ingest.triples import Triples, insertion
from observations.errors import UnknownRunError
from observations.record import Observation, Run, RunSpec, Summary
from observations.statistics import Span, Statistics
from observations.store import keep_observation
from observations.timeline.trace import trace_of
from ontology.iris import Iris
from ontology.selectors import series_name
from ontology.terms import QUDT, ST
from tests.command_line import run
from tests.observations.timeline.traces import ReadSlice, read_trace
from tests.servers import Fuseki, VictoriaMetrics

IRIS = Iris("http://localhost:8000")
GAUGE, COUNTER, SLOW = "mem.util.free", "disk.all.write_bytes", "disk.all.write"
UNITS = {GAUGE: "KibiBYTE", COUNTER: "KibiBYTE", SLOW: "NUM"}
START_MS = 1_793_523_600_000
START_NS = START_MS * 10**6 + 123_457
FIGURES = Statistics(1, 1.0, 1.0, 1.0, 1.0, 1.0, None, None)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VictoriaMetrics]:
    with VictoriaMetrics(tmp_path_factory.mktemp("store")) as server:
        yield server


@pytest.fixture
def settings(before_fuseki: Fuseki, store: VictoriaMetrics, tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, store_read_url=store.url, store_write_url=store.url)


@pytest.fixture
def twin(before_fuseki: Fuseki) -> Iterator[Endpoint]:
    with Endpoint(f"{before_fuseki.url}/twin") as found:
        metrics = Triples()
        for name, unit in UNITS.items():
            kind = ST.Instant if name == GAUGE else ST.Counter
            known = {ST.samplerName: name, ST.dbName: series_name(name)}
            known |= {ST.semantics: kind}
            known |= {QUDT.hasUnit: URIRef(f"http://qudt.org/vocab/unit/{unit}")}
            metrics.node(IRIS.metric(name), ST.Metric, known)
        host = Triples()
        host.node(IRIS.host("n1"), ST.ComputeNode, {ST.hostname: "n1"})
        host.node(IRIS.component("n1", "thread", "0"), ST.HardwareThread, {})
        graphs = {IRIS.metrics_graph: metrics, IRIS.twin_graph("n1"): host}
        found.update(insertion(graphs))
        yield found


def summary(metric: str, instance: str | None = None) -> Summary:
    slow = 1.0 if metric == SLOW else None
    return Summary(metric, str(IRIS.metric(metric)), instance, FIGURES, slow)


def keep(
    settings: Settings,
    twin: Endpoint,
    id_: str,
    *summaries: Summary,
    start_ns: int = START_NS,
    seconds: float = 2.0,
    events: bool = True,
    **more: Any,
) -> None:
    """Record a run of some seconds, with its events if they are stored here."""
    start = {"event": "started", "start_ns": start_ns, "exec_ns": start_ns + 1001}
    start |= {"pid": 7, "start_ticks": 8, "boot": "b"}
    ended = {"event": "ended", "end_ns": start_ns + int(seconds * 1e9) + 3, "exit": 0}
    ended |= {"signal": None, "timed_out": False, "cancelled": "", "rusage": None}
    kept = {"bytes": 0, "head": "", "tail": "", "cut": 0}
    ended["output"] = {"stdout": kept, "stderr": kept}
    span = Span(start_ns / 1e6, ended["end_ns"] / 1e6)
    spec = RunSpec("n1", ("solve", "-n"), (0,), **more)
    one = Observation(id_, spec, Run(start, span, ended), {}, summaries)
    keep_observation(one, twin, IRIS)
    if events:
        folder = settings.home / "observations" / id_
        folder.mkdir(parents=True)
        every = (start, pop(start_ns), regions(start_ns), ended)
        lines = [json.dumps(event) for event in every]
        (folder / "events.jsonl").write_text("\n".join([*lines, '{"event": "end']))


def regions(start_ns: int) -> Mapping[str, Any]:
    """Two threads of rank 0; the first is in `solve` within `main`."""
    slices = [[1, start_ns + 20, start_ns + 30], [0, start_ns + 10, start_ns + 50]]
    thread = {"rank": 0, "process": 0, "thread": 0, "piped": False, "times": []}
    other = {**thread, "thread": 1, "slices": [[0, start_ns + 11, start_ns + 12]]}
    return {
        **{"event": "regions", "reasons": [], "events": [], "user_only": False},
        **dict.fromkeys(("omitted", "unbalanced", "unfinished", "unreadable"), 0),
        "regions": [[-1, "main"], [0, "solve"]],
        "threads": [{**thread, "slices": slices}, other],
    }


def pop(start_ns: int) -> Mapping[str, Any]:
    """Two ranks; the first is in `MPI_Send`, and then in OpenMP."""
    slices = [[0, start_ns + 20, start_ns + 30], [1, start_ns + 40, start_ns + 50]]
    thread = {"rank": 0, "process": 0, "thread": 0, "slices": slices}
    other = {**thread, "rank": 1, "process": 1, "slices": slices[:1]}
    names = ["MPI_Send", "OpenMP barrier"]
    trace = {"names": names, "left_out_slices": 0, "threads": [other, thread]}
    return {"event": "pop", "reason": "", "processes": [], "trace": trace}


def write(
    settings: Settings,
    metric: str,
    stamps: list[int],
    values: list[float],
    instance: str | None = None,
) -> None:
    labels = {"__name__": series_name(metric), "hostname": "n1"}
    labels |= {} if instance is None else {"instname": instance}
    write_lines(settings, [line(labels, stamps, values)])


def memory_of(parts: Iterator[bytes]) -> tuple[int, int]:
    """Return the size of all parts, and the memory that making them needed."""
    tracemalloc.start()
    size = sum(map(len, parts))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size, peak


def ticks(*seconds: float) -> list[int]:
    return [START_MS + int(1000 * one) for one in seconds]


def test_run_with_its_regions_and_calls_has_exact_times(
    settings: Settings, twin: Endpoint
) -> None:
    keep(settings, twin, "a")
    trace = read_trace(trace_of(settings, twin, "a").parts())
    end = START_NS + 2 * 10**9 + 3
    command, whole = trace.slices["runs on n1"]
    assert command[:3] == ("solve -n / command", START_NS + 1001, end)
    assert whole[:3] == ("solve -n", START_NS, end)
    assert whole.facts["outcome"] == "completed"
    assert whole.facts["run"] == str(IRIS.observation("a"))
    assert trace.starts == [START_NS]
    assert trace.slices["regions / rank 0, thread 0"] == [
        ReadSlice("main / solve", START_NS + 20, START_NS + 30, {}),
        ReadSlice("main", START_NS + 10, START_NS + 50, {}),
    ]
    assert len(trace.slices["regions / rank 0, thread 1"]) == 1
    assert trace.slices["MPI and OpenMP / rank 0, thread 0"] == [
        ReadSlice("MPI_Send", START_NS + 20, START_NS + 30, {}),
        ReadSlice("OpenMP barrier", START_NS + 40, START_NS + 50, {}),
    ]
    assert len(trace.slices["MPI and OpenMP / rank 1, thread 0"]) == 1


def test_run_from_elsewhere_has_the_times_of_the_graph(
    settings: Settings, twin: Endpoint
) -> None:
    keep(settings, twin, "a", events=False)
    trace = read_trace(trace_of(settings, twin, "a").parts())
    ((path, begin, end, _),) = trace.slices["runs on n1"]
    assert path == "solve -n"
    assert abs(begin - START_NS) < 1000
    assert abs(end - begin - 2 * 10**9) < 2000


def test_samples_are_counters_with_units(settings: Settings, twin: Endpoint) -> None:
    keep(settings, twin, "a", summary(GAUGE, "x"), summary(COUNTER), summary(SLOW))
    write(settings, GAUGE, ticks(0.5, 1, 1.5), [5.0, 7.0, 6.0], "x")
    # Not of the run.
    write(settings, GAUGE, ticks(0.5), [1.0], "y")
    write(settings, GAUGE, ticks(-1, 9), [1.0, 2.0], "x")
    write(settings, COUNTER, ticks(0.5, 1, 1.5, 2), [10.0, 15.0, 2.0, 2.0])
    write(settings, SLOW, ticks(0.5, 1, 1.5, 2), [10.0, 12.0, 12.0, 18.0])
    trace = trace_of(settings, twin, "a")
    read = read_trace(trace.parts())
    assert read.units == {
        f"samples / {GAUGE} x": "KiB",
        f"samples / {COUNTER}": "KiB/s",
        f"samples / {SLOW}": "1/s",
    }

    def values(name: str) -> list[tuple[float, float]]:
        found = read.values[f"samples / {name}"]
        return [((ns - START_MS * 10**6) / 1e9, value) for ns, value in found]

    assert values(f"{GAUGE} x") == [(0.5, 5.0), (1.0, 7.0), (1.5, 6.0)]
    # A rate is drawn over the step that it is of; after a reset it counts from zero.
    assert values(COUNTER) == [(0.5, 10.0), (1.0, 4.0), (1.5, 0.0)]
    # The source updates it each second only.
    assert values(SLOW)[-2:] == [(1.0, 6.0), (1.5, 6.0)]
    assert trace.samples == sum(map(len, read.values.values()))


def test_repetitions_are_in_the_same_tracks(settings: Settings, twin: Endpoint) -> None:
    for number in (2, 1):
        more = {"group": "g", "repetition": number, "repeat": 2}
        start = START_NS + 10**10 * number
        keep(settings, twin, f"g-{number}", summary(GAUGE), start_ns=start, **more)
        write(settings, GAUGE, ticks(10 * number + 1), [float(number)])
    read = read_trace(trace_of(settings, twin, "g").parts())
    runs = [one.path for one in read.slices["runs on n1"] if " / " not in one.path]
    assert runs == ["1: solve -n", "2: solve -n"]
    assert [value for _, value in read.values[f"samples / {GAUGE}"]] == [1.0, 2.0]
    assert len(read.slices["regions / rank 0, thread 0"]) == 4


def test_long_run_is_written_in_parts(settings: Settings, twin: Endpoint) -> None:
    instances = [f"i{number}" for number in range(20)]
    summaries = [summary(COUNTER, one) for one in instances]
    keep(settings, twin, "a", *summaries, seconds=3600.0)
    stamps = np.arange(START_MS + 100, START_MS + 3_600_000, 100)
    for at, instance in enumerate(instances):
        values = (stamps - START_MS) * (at + 1) / 1000
        write(settings, COUNTER, stamps.tolist(), values.tolist(), instance)
    trace = trace_of(settings, twin, "a")
    size, peak = memory_of(trace.parts())
    assert peak < 16 << 20 < size
    parts = list(trace_of(settings, twin, "a").parts())
    read = read_trace(parts)
    assert len(read.values) == 20
    for at, instance in enumerate(instances):
        found = read.values[f"samples / {COUNTER} {instance}"]
        # Each step once, also those across two windows.
        assert [ns // 10**6 for ns, _ in found] == stamps[:-1].tolist()
        assert np.allclose([value for _, value in found], at + 1)
    assert max(map(len, parts)) < size / 50


def test_unknown_run_has_a_code(settings: Settings, twin: Endpoint) -> None:
    with pytest.raises(UnknownRunError) as caught:
        trace_of(settings, twin, "none")
    assert caught.value.code == "no-such-observation"


def test_command_writes_a_trace_or_nothing(
    settings: Settings,
    twin: Endpoint,
    store: VictoriaMetrics,
    before_fuseki: Fuseki,
    tmp_path: Path,
) -> None:
    keep(settings, twin, "a", summary(GAUGE))
    write(settings, GAUGE, ticks(1), [3.0])
    env = before_fuseki.environment(tmp_path) | {"SUPERTWIN_STORE_READ_URL": store.url}
    out = tmp_path / "a.pftrace"
    words = ["export", "observation", "a", "--format", "perfetto", "--out", str(out)]
    done = run(env, *words)
    assert (done.returncode, done.stderr) == (0, f"1 run: 1 value, {out}\n")
    assert read_trace([out.read_bytes()]).values == {
        f"samples / {GAUGE}": [(ticks(1)[0] * 10**6, 3.0)]
    }
    out.unlink()
    env["SUPERTWIN_STORE_READ_URL"] = "http://127.0.0.1:9"
    done = run(env, *words)
    assert done.returncode == 1
    assert "[series-unreadable]" in done.stderr
    assert list(tmp_path.glob("*trace*")) + list(tmp_path.glob(".*partial")) == []
