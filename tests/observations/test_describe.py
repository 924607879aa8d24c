"""What the graph of a run says of what was asked for."""

import pytest

from observations.describe import describe_observation
from observations.record import Asked, Observation, Run
from observations.statistics import Span
from ontology.iris import Iris
from ontology.terms import ST

IRIS = Iris("http://n.example")
STARTED = {"pid": 7, "start_ticks": 8, "boot": "b"}


def test_what_was_asked_for_is_told_but_no_secret() -> None:
    asked = Asked(
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
def test_a_secret_is_told_by_its_name_alone(
    name: str, value: str, is_told: bool
) -> None:
    (told,) = Asked("n1", ("x",), environment={name: value}).variables
    assert told == (f"{name}={value}" if is_told else name)
