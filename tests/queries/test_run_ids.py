"""A run is named by its IRI, its id, or its group."""

from pathlib import Path

import pytest

from core.stores.endpoint import Endpoint
from ontology.iris import Iris
from queries.binding import RUN
from queries.catalogue import load_catalogue, saved_query
from queries.errors import ParameterError
from queries.run_ids import bind_runs, group_query, with_run_iris
from tests.queries.cases import load_data

# rdflib's own code still calls deprecated functions.
pytestmark = pytest.mark.filterwarnings(
    "ignore:(Dataset.default_context|Dataset.contexts|ConjunctiveGraph) is deprecated"
)
IRIS = Iris("http://localhost:8000")
RUNS = saved_query("observations/runs")
RECORDED = Path(__file__).parent / "hosts" / "observations.trig"
TAKE_RUNS = [
    name
    for name, query in load_catalogue().items()
    if any(param.type == RUN for param in query.params.values())
]
# The others need two runs at once, or samples.
OTHERS = ["observations/overlapping", "samples/run-metric", "samples/run-neighbours"]
# Passes, a share of the slots, the times of a thread, file I/O and a record of regions,
# which only newer runs have.
MORE = """PREFIX st: <https://w3id.org/supertwin/ns#>
PREFIX run: <http://localhost:8000/observation/>
INSERT { GRAPH <x:more> {
  ?run st:ranOn ?host ; st:passNumber 1 ; st:requestedPasses 2 ; st:repetition 1 ;
    st:hasFigure [ st:figureName "retiring" ; st:figureValue 0.5 ] ;
    st:hasLoopAnalysis [ st:missingLoopFact "perf took no sample" ] ;
    st:hasProfile [ st:profileKind "on CPU" ; st:missingProfile "none" ] ;
    st:hasParallelAnalysis [ st:hasThreadTimes [
    st:rankNumber 0 ; st:threadNumber 0 ; st:usefulTime 1.0 ; st:barrierTime 0.0 ;
    st:idleTime 0.0 ; st:lockTime 0.0 ; st:forkTime 0.0 ; st:mpiWaitTime 0.0 ;
    st:mpiCallTime 0.0 ] ] ;
    st:hasIoRecord [ st:hasFileIo [ st:ioInterface "POSIX" ; st:fileCount 1 ;
    st:ioRanks 1 ; st:bytesRead 0 ; st:bytesWritten 0 ; st:readCount 0 ;
    st:writeCount 0 ; st:openCount 1 ; st:readTime 0.0 ; st:writeTime 0.0 ;
    st:metadataTime 0.0 ] ] ;
    st:hasRegionRecord [ st:unbalancedEnds 0 ] } }
WHERE { VALUES (?run ?host) { (run:a "n1") (run:b "n2") } }"""
OF_RUNS = [name for name in TAKE_RUNS if name not in OTHERS]


def rows(twin: Endpoint, name: str, id_: str) -> list[list[object]]:
    query = saved_query(name)
    values = with_run_iris(query, IRIS, {"id": id_})
    group = group_query(query, values)
    assert group is not None
    runs = [run for (run,) in twin.table(group).rows]
    return twin.table(bind_runs(query, values, runs)).rows


@pytest.fixture
def twin(endpoint: Endpoint) -> Endpoint:
    endpoint.add_quads(load_data(RECORDED).serialize(format="nquads").encode())
    endpoint.update(MORE)
    return endpoint


def test_run_queries_accept_run_ids() -> None:
    figures = ("derived", "hot-loops", "io", "origin", "passes", "pop")
    names = (
        *figures,
        "profile-binaries",
        "profile",
        "properties",
        "regions",
        "runs",
        "series",
        "statistics",
        "thread-times",
        "top-down",
    )
    of_runs = [f"observations/{name}" for name in names]
    assert ["benchmarks/mix", *of_runs] == OF_RUNS
    assert set(OTHERS) <= set(TAKE_RUNS)


@pytest.mark.parametrize("name", OF_RUNS)
def test_iri_id_and_group_of_one_are_equivalent(twin: Endpoint, name: str) -> None:
    expected = rows(twin, name, "http://localhost:8000/observation/a")
    assert expected
    for id_ in ("a", "g", "http://localhost:8000/observation/g"):
        assert rows(twin, name, id_) == expected, id_
    assert rows(twin, name, "none") == []


@pytest.mark.parametrize("name", OF_RUNS)
def test_group_gives_all_its_runs(twin: Endpoint, name: str) -> None:
    twin.update(
        "PREFIX st: <https://w3id.org/supertwin/ns#> INSERT DATA { GRAPH <x:g> "
        '{ <http://localhost:8000/observation/b> st:runGroup "g" } }'
    )
    at = saved_query(name).returns.index("run")
    assert {str(row[at]).rpartition("/")[2] for row in rows(twin, name, "g")} == {*"ab"}


def test_id_is_encoded_and_invalid_id_is_refused() -> None:
    values = with_run_iris(RUNS, IRIS, {"id": "a b>", "text": "x"})
    assert values == {"id": "http://localhost:8000/observation/a~20b~3E", "text": "x"}
    assert with_run_iris(RUNS, IRIS, {"id": None}) == {"id": None}
    assert group_query(RUNS, {"id": None}) is None
    with pytest.raises(ParameterError, match="parameter id: "):
        with_run_iris(RUNS, IRIS, {"id": ".."})
    with pytest.raises(ParameterError, match="the id or IRI of a run or group"):
        bind_runs(RUNS, with_run_iris(RUNS, IRIS, {"id": "a/b> }"}), [])
