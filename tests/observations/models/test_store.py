"""Models of runs in a real store: read, kept, found, replaced and removed."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from rdflib import XSD, Literal, URIRef

from core.stores.endpoint import Endpoint
from ingest.triples import Triples, insertion
from observations.errors import NoModelRunsError
from observations.models.model import check_runs, read_model
from observations.models.store import graphs_of_models, keep_model
from ontology.iris import Iris
from ontology.terms import PROV, QUDT, ST, UNIT
from queries.run import saved_rows
from tests.observations.models.synthetic import Law, grid, synthetic_rows, threads
from tests.servers import Fuseki

IRIS = Iris("http://localhost:8000")
HOST = IRIS.host("n1")
WHEN = Literal("2026-11-26T09:00:00Z", datatype=XSD.dateTime)


@pytest.fixture(scope="module")
def twin(emptied_fuseki: Fuseki) -> Iterator[Endpoint]:
    with Endpoint(f"{emptied_fuseki.url}/twin") as endpoint:
        host = Triples()
        host.node(HOST, ST.ComputeNode, {ST.hostname: "n1"})
        endpoint.update(insertion({IRIS.twin_graph("n1"): host}))
        yield endpoint


def observe(twin: Endpoint, tag: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write runs of one setting, or none, as `supertwin observe` does."""
    graphs = {}
    for one in rows:
        id_ = f"{tag}-{one['run'].removeprefix('run:')}"
        triples = Triples()
        setting = f"{one['setting']}={one['value']}" if one["setting"] else None
        about = {
            ST.ofHost: HOST,
            ST.ranOn: "n1",
            ST.command: "solver",
            ST.outcome: one["outcome"],
            ST.duration: Literal(f"{one['seconds']:.9f}", datatype=XSD.decimal),
            ST.observationTag: [tag, setting],
            ST.threadCount: one["threads"],
            PROV.startedAtTime: WHEN,
        }
        triples.node(IRIS.observation(id_), ST.ObservationInterface, about)
        graphs[IRIS.observation_graph(id_)] = triples
    twin.update(insertion(graphs))


def test_model_is_kept_with_its_terms_and_runs(twin: Endpoint) -> None:
    law: Law = lambda threads, n: 1e-6 * n**2 / threads  # noqa: E731
    rows = synthetic_rows(law, grid([1, 2, 4], [256, 512, 1024]), noise=0.01)
    rows[0]["outcome"] = "failed"
    observe(twin, "kept", rows)
    model = read_model(twin, "kept", "n1", {"threads": 2, "n": 600})
    assert model.formula == "T = a n^2/threads"
    assert model.runs.left_out == {"failed": 1}
    found = model.predict({"threads": 2, "n": 600})
    assert found.low < 1e-6 * 600**2 / 2 < found.high
    iri = keep_model(twin, IRIS, model)
    (row,) = saved_rows(twin, "observations/models", {"tag": "kept"})
    assert (row["model"], row["host"], row["runs"]) == (str(iri), "n1", 17)
    assert float(row["error"]) == pytest.approx(model.held_out.mean, abs=1e-9)
    (term,) = saved_rows(twin, "observations/model-terms", {"tag": "kept"})
    assert float(term["low"]) < 1e-6 * 1024**2 / 4 < float(term["high"])
    assert (term["term"], float(term["share"])) == ("n^2/threads", 1.0)
    used = {str(run) for (run,) in modelled(twin, str(iri))}
    assert used == {run.iri for run in model.runs.runs}


def modelled(twin: Endpoint, model: str) -> list[tuple[Any, ...]]:
    query = f"SELECT ?run {{ <{model}> <{ST.modelledRun}> ?run }}"
    return [*twin.select(query).values()]


def test_model_is_replaced_by_that_of_more_runs(twin: Endpoint) -> None:
    rows = synthetic_rows(lambda threads: 1 / threads, threads(1, 2, 3, 4), repeat=1)
    observe(twin, "grows", rows)
    keep_model(twin, IRIS, read_model(twin, "grows", "n1", {"threads": 2}))
    more = synthetic_rows(lambda threads: 1 / threads, threads(5, 6), repeat=1, seed=1)
    observe(twin, "grows", [{**one, "run": f"{one['run']}-more"} for one in more])
    keep_model(twin, IRIS, read_model(twin, "grows", "n1", {"threads": 2}))
    (row,) = saved_rows(twin, "observations/models", {"tag": "grows"})
    assert row["runs"] == 6


def test_models_of_a_run_are_found(twin: Endpoint) -> None:
    graphs = graphs_of_models(twin, [str(IRIS.observation("grows-0-0"))])
    assert graphs == [IRIS.model_graph("n1", "grows")]
    assert graphs_of_models(twin, [str(IRIS.observation("none"))]) == []


def test_rates_that_benchmarks_measured_are_tried(twin: Endpoint) -> None:
    memory = {1: 10.0, 2: 19.0, 4: 24.0, 8: 25.0}
    publish_roofs(twin, {count: 10.0 * count for count in memory}, memory)
    rows = synthetic_rows(
        lambda threads: 1 / memory[int(threads)], threads(*memory), noise=0.001
    )
    observe(twin, "memory", rows)
    model = read_model(twin, "memory", "n1", {"threads": 4})
    assert "bandwidth" in model.formula
    beyond = read_model(twin, "memory", "n1", {"threads": 16})
    assert "bandwidth" not in beyond.formula


def publish_roofs(
    twin: Endpoint, peaks: dict[int, float], memory: dict[int, float]
) -> None:
    triples, benchmark = Triples(), IRIS.benchmark("b")
    results: list[URIRef] = []
    for count in peaks:
        for kernel, unit, value in (
            ("fma", UNIT.FLOPS, peaks[count]),
            ("load", UNIT["BYTE-PER-SEC"], memory[count]),
        ):
            result = IRIS.benchmark_result("b", "r", f"{kernel}-{count}")
            results.append(result)
            about = {
                ST.ofHost: HOST,
                ST.field: kernel,
                ST.modifier: "double",
                ST.threadCount: count,
                ST.pinningPolicy: "compact",
                ST.resultValue: Literal(str(value), datatype=XSD.decimal),
                ST.bestValue: Literal(str(value), datatype=XSD.decimal),
                QUDT.hasUnit: unit,
                PROV.startedAtTime: WHEN,
                ST.memoryLevel: "DRAM" if kernel == "load" else None,
            }
            triples.node(result, ST.BenchmarkResult, about)
    about = {
        ST.ofHost: HOST,
        ST.benchmarkSuite: "carm",
        ST.hasResult: results,
    }
    triples.node(benchmark, ST.BenchmarkInterface, about)
    twin.update(insertion({IRIS.benchmark_graph("b"): triples}))


def test_runs_are_checked_by_a_model_of_the_others(twin: Endpoint) -> None:
    law: Law = lambda threads: 2 / threads  # noqa: E731
    observe(twin, "checked", synthetic_rows(law, threads(1, 2, 3, 4, 6), noise=0.01))
    later = synthetic_rows(
        lambda threads: 1.2 * law(threads), threads(2, 3), noise=0.01
    )
    later += synthetic_rows(law, threads(4), noise=0.01, seed=3)
    later = [{**one, "run": f"later-{place}"} for place, one in enumerate(later)]
    observe(twin, "checked", later)
    ids = [f"checked-later-{place}" for place in range(len(later))]
    runs = {str(IRIS.observation(id_)) for id_ in ids}
    model, checks = check_runs(twin, "checked", "n1", runs)
    assert not runs & {run.iri for run in model.runs.runs}
    found = [(one.expected.inputs["threads"], one.number) for one in checks]
    assert found == [(2, 2), (3, 2), (4, 2)]
    assert [one.verdict.value for one in checks] == ["worse", "worse", "equivalent"]


def test_run_without_the_tag_is_not_checked(twin: Endpoint) -> None:
    with pytest.raises(NoModelRunsError, match="kept-1-0 did not complete"):
        check_runs(twin, "checked", "n1", {str(IRIS.observation("kept-1-0"))})


def test_unknown_tag_is_refused(twin: Endpoint) -> None:
    with pytest.raises(NoModelRunsError, match="--tag none"):
        read_model(twin, "none", "n1", {})
