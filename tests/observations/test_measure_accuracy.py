"""Errors of events, from likwid-bench's output and the recorded runs."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.stores.endpoint import Endpoint
from ingest.pmu.store import publish_roles
from observations.accuracy import Accuracy, AccuracyPair, accuracy_of, keep_accuracy
from observations.errors import NotCountedError, ObservationError
from observations.measure_accuracy import judge, judged_events, lines
from observations.record import DerivedFigure, Observation, Run, RunSpec
from observations.statistics import Span
from observations.store import keep_observation
from queries.catalogue import saved_query
from sampling.errors import PerfeventError
from tests.counting_hosts import IRIS, publish_host
from tests.servers import Fuseki

TRIAD = (Path(__file__).parents[1] / "observations/likwid-triad.txt").read_text()
# The kernel's output gives its work: 3124 elements, 1000 times.
DONE = {
    "FLOPsScalarDouble": 6_248_000,
    "Instructions": 14_839_016,
    "Loads": 9_372_000,
    "Stores": 3_124_000,
}
UNIT = "http://qudt.org/vocab/unit/NUM"


@pytest.fixture(scope="module")
def twin(emptied_fuseki: Fuseki) -> Iterator[Endpoint]:
    """A Skylake-X that counts, and a Zen 4 whose kernel offers no counters."""
    with Endpoint(f"{emptied_fuseki.url}/twin") as endpoint:
        publish_roles(endpoint, IRIS)
        publish_host(endpoint, "sky")
        publish_host(endpoint, "zen4", {"msr": ["tsc"], "software": []})
        yield endpoint


def record(twin: Endpoint, id_: str, off: float, **changed: DerivedFigure) -> None:
    """Record a run of the kernel whose counters are too high by a relative error."""
    derived = {
        role: DerivedFigure(role, (role,), UNIT, value=known * (1 + off), covered=1.0)
        for role, known in DONE.items()
    } | changed
    started = {"pid": 7, "start_ticks": 8, "boot": "b"}
    keep_observation(
        Observation(
            id_,
            RunSpec("sky", ("likwid-bench", "-t", "triad"), (0,)),
            Run(started, Span(1_000.0, 2_000.0)),
            {},
            [],
            list(derived.values()),
        ),
        twin,
        IRIS,
    )


def test_each_role_is_judged_by_one_event(twin: Endpoint) -> None:
    assert {role: str(event) for role, event in judged_events(twin, "sky").items()} == {
        "FLOPsScalarDouble": "skx::FP_ARITH_INST_RETIRED:SCALAR_DOUBLE",
        "Instructions": "skx::INST_RETIRED:ANY_P",
        "Loads": "skx::MEM_INST_RETIRED:ALL_LOADS",
        "Stores": "skx::MEM_INST_RETIRED:ALL_STORES",
    }


def test_missing_counters_are_reported(twin: Endpoint) -> None:
    with pytest.raises(PerfeventError, match="kernel of this host does not offer"):
        judged_events(twin, "zen4")


def test_measured_errors_are_in_the_graph(twin: Endpoint) -> None:
    record(twin, "a", 0.001)
    record(twin, "b", -0.003)
    events = judged_events(twin, "sky")
    runs = {"a": TRIAD, "b": TRIAD}
    found = list(judge(twin, IRIS, "triad", events, runs))
    for _ in range(2):  # the second call replaces the first result
        keep_accuracy("sky", found, datetime(2026, 11, 22, tzinfo=UTC), twin, IRIS)
    graphs = (IRIS.accuracy_graph("sky"), IRIS.observation_graph("a"))
    following = {str(IRIS.entailed_graph(graph)) for graph in graphs}
    assert twin.standing(following) == following
    rows = twin.select(saved_query("pmu/accuracy").bind({"pmu": "skx"})).values()
    assert len(rows) == len(DONE)
    for pmu, event, kernel, error, expected, measured, number, host, _ in rows:
        (role,) = [name for name, one in events.items() if one.name == event]
        assert (pmu, kernel, number, host) == ("skx", "triad", 2, "sky")
        assert float(error) == pytest.approx(0.002)
        assert float(expected) == DONE[role]
        assert float(measured) == pytest.approx(DONE[role] * 0.999)
    assert lines(found)[1].split() == [
        *("triad", "skx::INST_RETIRED:ANY_P", "0.2000", "%"),
        *("14824177", "for", "14839016"),
    ]


@pytest.mark.parametrize(
    ("loads", "why"),
    [
        (
            DerivedFigure("Loads", ("Loads",), UNIT, reason="it was not counted"),
            "not counted",
        ),
        (
            DerivedFigure("Loads", ("Loads",), UNIT, 1.0, covered=1.0, dutycycle=0.5),
            "Loads shared its counter",
        ),
    ],
)
def test_incomplete_counts_are_refused(
    twin: Endpoint, loads: DerivedFigure, why: str
) -> None:
    record(twin, f"c-{len(why)}", 0.0, Loads=loads)
    events = judged_events(twin, "sky")
    with pytest.raises(NotCountedError, match=why):
        list(judge(twin, IRIS, "triad", events, {f"c-{len(why)}": TRIAD}))


def test_role_without_executed_work_has_no_error() -> None:
    none = [AccuracyPair("r", 0.0, 12.0)]
    assert accuracy_of("skx", "STORES", "Stores", "sum", none) is None


def test_event_that_the_catalogue_lacks_is_refused(twin: Endpoint) -> None:
    record(twin, "d", 0.0)
    run = str(IRIS.observation("d"))
    wrong = Accuracy("skx", "NO_SUCH", "Loads", "triad", 1.0, 1.0, 0.0, (run,))
    before = twin.get_graph(IRIS.accuracy_graph("sky"))
    with pytest.raises(ObservationError, match="st:ofEvent"):
        keep_accuracy("sky", [wrong], datetime.now(UTC), twin, IRIS)
    assert len(twin.get_graph(IRIS.accuracy_graph("sky"))) == len(before)
