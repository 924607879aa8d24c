"""How the graph of a run describes its request, dashboard and figures."""

import sys

import pytest
from rdflib import XSD, Literal, URIRef

from observations.describe import describe_observation
from observations.errors import RunLostError
from observations.record import Observation, Run, RunSpec, run_of
from observations.statistics import Span
from ontology.iris import Iris
from ontology.terms import ST
from tests.observations.test_launch import launched

IRIS = Iris("http://n.example")
STARTED = {"pid": 7, "start_ticks": 8, "boot": "b"}


def test_request_is_described_without_secrets() -> None:
    asked = RunSpec(
        "n1",
        ("solve",),
        metrics=("kernel.all.load",),
        roles=("FLOPs",),
        events=("msr::tsc",),
        environment={"A": "x=y", "B": "", "API_KEY": "hidden"},
        timeout=1.5,
    )
    run = Run(STARTED, Span(1000.0, 2000.0))
    graph = describe_observation(Observation("o", asked, run, {}, []), IRIS).graph()
    node = IRIS.observation("o")
    assert set(map(str, graph.objects(node, ST.addedVariable))) == {
        "A=x=y",
        "B=",
        "API_KEY",
    }
    assert "hidden" not in graph.serialize()
    assert list(graph.objects(node, ST.requestedRole)) == [IRIS.role("FLOPs")]
    assert str(graph.value(node, ST.requestedMetric)) == "kernel.all.load"
    assert str(graph.value(node, ST.requestedEvent)) == "msr::tsc"
    assert float(graph.value(node, ST.timeLimit) or 0) == 1.5
    assert graph.value(node, ST.requestedRuns) is None


def test_code_of_the_problem_that_ended_a_run_is_described() -> None:
    run, spec = Run(STARTED, Span(1000.0, 2000.0)), RunSpec("n1", ("solve",))
    lost = Observation("o", spec, run, {}, [], problem_code=RunLostError.code)
    graph = describe_observation(lost, IRIS).graph()
    assert str(graph.value(IRIS.observation("o"), ST.errorCode)) == "run-lost"
    graph = describe_observation(Observation("o", spec, run, {}, []), IRIS).graph()
    assert graph.value(IRIS.observation("o"), ST.errorCode) is None


def test_run_names_the_dashboard_of_its_host_while_it_ran() -> None:
    run = Run(STARTED, Span(1_793_523_600_500.0, 1_793_523_602_100.0))
    observation = Observation("o", RunSpec("n+1", ("solve",)), run, {}, [])
    (address,) = (
        describe_observation(observation, IRIS).graph().objects(None, ST.dashboard)
    )
    assert isinstance(address, Literal) and address.datatype == XSD.anyURI
    assert str(address) == (
        "http://n.example/dashboards/monitor?host=n%2B1"
        "&from=2026-11-01T09%3A00%3A00Z&to=2026-11-01T09%3A00%3A03Z"
    )


@pytest.mark.parametrize(
    ("command", "term", "least_mib", "most_mib"),
    [
        (["true"], ST.peakResidentSizeBound, 0, 64),
        (["sleep", "0.001"], ST.peakResidentSizeBound, 0, 64),
        (
            [sys.executable, "-c", "bytearray(b'1') * (200 << 20)"],
            ST.peakResidentSize,
            200,
            264,
        ),
    ],
    ids=["true", "sleep", "200 MiB"],
)
def test_every_run_has_its_peak_memory_or_an_upper_bound(
    command: list[str], term: URIRef, least_mib: int, most_mib: int
) -> None:
    run = run_of(launched(argv=command))
    observation = Observation("o", RunSpec("n1", tuple(command)), run, {}, [])
    graph = describe_observation(observation, IRIS).graph()
    terms = (ST.peakResidentSize, ST.peakResidentSizeBound)
    found = {one: graph.value(IRIS.observation("o"), one) for one in terms}
    assert [one for one in terms if found[one] is not None] == [term]
    assert least_mib < int(str(found[term])) / 2**20 < most_mib


@pytest.mark.parametrize(
    ("name", "value", "is_told"),
    [
        ("OMP_NUM_THREADS", "4", True),
        ("GIT_AUTHOR_NAME", "ana", True),
        ("OLDPWD", "/", True),
        ("STORE", "https://store.example:8080/a@b", True),
        ("aws_secret_access_key", "x", False),
        ("PGPASSWORD", "x", False),
        ("DB_PWD", "x", False),
        ("AUTHORIZATION", "x", False),
        ("STORE", "https://ana:pw@store.example/", False),
        ("STORE", "redis://:pw@store.example", False),
    ],
)
def test_secret_is_described_by_name_only(name: str, value: str, is_told: bool) -> None:
    (found,) = RunSpec("n1", ("x",), environment={name: value}).variables
    assert found == (f"{name}={value}" if is_told else name)
