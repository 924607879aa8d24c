"""Bytes that cores request: figures of runs and regions, and their points.

The counts are planted: no hardware counters were available.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.roofline import REQUESTED
from core.stores.endpoint import Endpoint
from ingest.pmu.store import publish_roles
from observations.derived import derive, less_is_better
from observations.describe import describe_observation
from observations.errors import UnknownFigureError
from observations.record import DerivedFigure, Observation, Run, RunSpec
from observations.regions.counting import RegionCounting, figures_of, read_counting
from observations.regions.regions import regions_of
from observations.session.roles import read_figures, read_roles, roles_of_figures
from observations.statistics import Span
from queries.run import saved_rows
from tests.counting_hosts import IRIS, publish_host
from tests.observations.totals import SECONDS, recorded
from tests.servers import Fuseki

FIGURE = "cache-aware intensity"
# Half of the instructions have 8 bytes and half 64, so a load or store has 36.
COUNTS = {
    "skx::MEM_INST_RETIRED:ALL_LOADS": 2e9,
    "skx::MEM_INST_RETIRED:ALL_STORES": 1e9,
    "skx::FP_ARITH_INST_RETIRED:SCALAR_DOUBLE": 1e9,
    "skx::FP_ARITH_INST_RETIRED:SCALAR_SINGLE": 0.0,
    "skx::FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE": 0.0,
    "skx::FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE": 0.0,
    "skx::FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE": 0.0,
    "skx::FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE": 0.0,
    "skx::FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE": 1e9,
    "skx::FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE": 0.0,
}
BYTES, FLOPS = 3e9 * 36, 9e9


@pytest.fixture(scope="module")
def twin(emptied_fuseki: Fuseki) -> Iterator[Endpoint]:
    """A store with the roles, a Skylake-X and a Zen 3."""
    with Endpoint(f"{emptied_fuseki.url}/twin") as endpoint:
        publish_roles(endpoint, IRIS)
        publish_host(endpoint, "sky")
        publish_host(endpoint, "zen3")
        yield endpoint


def counting_of(twin: Endpoint, *roles: str) -> RegionCounting:
    spec = RunSpec("sky", ("x",), regions=True, roles=roles)
    found = read_counting(twin, spec)
    return RegionCounting(
        found.events, found.roles, found.named, tuple(read_figures(twin, "sky"))
    )


def region_event(counting: RegionCounting) -> dict[str, Any]:
    """What a recorder reports of one region of 2 s with these counts."""
    names = [one["name"] for one in counting.events]
    counts = [[int(COUNTS.get(name, 0)), 100, 100] for name in names]
    thread = {"rank": -1, "process": 0, "thread": 0, "piped": False}
    return {
        **dict.fromkeys(("omitted", "unbalanced", "unfinished", "unreadable"), 0),
        **{"reasons": [], "user_only": False, "regions": [[-1, "solve"]]},
        "events": [{"name": name, "reason": ""} for name in names],
        "threads": [{**thread, "times": [[0, 1, 2 * 10**9, 2 * 10**9, counts]]}],
    }


def publish(
    twin: Endpoint, id_: str, counting: RegionCounting, *figures: DerivedFigure
) -> None:
    """Publish a run with the region."""
    record = regions_of(region_event(counting))
    started = {"pid": 7, "start_ticks": 8, "boot": "b"}
    found = Observation(
        id_,
        RunSpec("sky", ("./solver",), (0,)),
        Run(started, Span(1_793_523_600_500.0, 1_793_523_602_500.0)),
        {},
        [],
        derived=figures,
        regions=record,
        region_figures=[figures_of(record, one, counting) for one in record.regions],
    )
    graph = describe_observation(found, IRIS).graph()
    twin.put_graph(str(IRIS.observation_graph(id_)), graph)


def test_requested_bytes_are_loads_and_stores_by_the_width_of_fp(
    twin: Endpoint,
) -> None:
    names = {one.metric for one in recorded(COUNTS, 0)}
    roles = read_roles(twin, RunSpec("sky", ("x",), (0,)), "run-a", names)
    figures = derive(roles, recorded(COUNTS, 0), SECONDS, read_figures(twin, "sky"))
    found = {one.name: one for one in figures}
    assert found["requested bytes"].value == pytest.approx(BYTES)
    assert found["requested bytes"].unit.endswith("/BYTE")
    assert found[FIGURE].value == pytest.approx(FLOPS / BYTES)
    assert found[FIGURE].unit == ""
    assert less_is_better(FIGURE) is False


def test_figure_names_the_roles_to_count(twin: Endpoint) -> None:
    roles = roles_of_figures(twin, "sky", [FIGURE, "IPC"])
    assert {"FLOPs", "Loads", "Stores", "Fp512Double", "Cycles"} <= {*roles}
    assert len(roles) == len(set(roles))


@pytest.mark.parametrize(
    ("host", "name"), [("sky", "x"), ("sky", ""), ("zen3", FIGURE)]
)
def test_unknown_figure_is_refused(twin: Endpoint, host: str, name: str) -> None:
    with pytest.raises(UnknownFigureError) as caught:
        roles_of_figures(twin, host, [name])
    assert caught.value.code == "unknown-figure"
    assert f"{host} has no figure '{name}'" in str(caught.value)


def test_region_with_counted_loads_and_stores_is_a_point(twin: Endpoint) -> None:
    counting = counting_of(twin, *roles_of_figures(twin, "sky", [FIGURE]))
    assert len(counting.events) == len(COUNTS)
    publish(twin, "point", counting)
    (row,) = saved_rows(twin, "benchmarks/points", {"host": "sky"})
    assert (row["kind"], row["name"]) == ("region", "./solver: solve")
    assert row["traffic"] == REQUESTED
    assert float(row["intensity"]) == pytest.approx(FLOPS / BYTES)
    assert float(row["rate"]) == pytest.approx(FLOPS / 2)
    (row,) = saved_rows(twin, "observations/regions", {"host": "sky"})
    assert row["noPoint"] is None
    twin.update(f"DROP GRAPH <{IRIS.observation_graph('point')}>")


def test_region_with_other_counts_says_why_it_is_no_point(twin: Endpoint) -> None:
    roles = roles_of_figures(twin, "sky", [FIGURE])
    for number, (names, says) in enumerate(
        [
            (("FLOPs", "DramTraffic"), "counted for each socket, not for a thread"),
            (("Loads",), "use --figure 'cache-aware intensity'"),
            # More events than regions count.
            (("Cycles", "Instructions", "L1Misses", *roles), "regions count 12 events"),
        ]
    ):
        publish(twin, f"none-{number}", counting_of(twin, *names))
        id_ = str(IRIS.observation(f"none-{number}"))
        (row,) = saved_rows(twin, "observations/regions", {"id": id_})
        assert says in row["noPoint"]
    assert saved_rows(twin, "benchmarks/points", {"host": "sky"}) == []


def test_run_with_dram_traffic_is_a_point_of_its_traffic(twin: Endpoint) -> None:
    figures = [
        DerivedFigure("FLOP rate", ("FLOPs",), value=4e9),
        DerivedFigure(FIGURE, ("FLOPs",), value=0.1),
    ]
    publish(twin, "cores", counting_of(twin), *figures)
    intensity = DerivedFigure("arithmetic intensity", ("FLOPs",), value=0.5)
    publish(twin, "dram", counting_of(twin), *figures, intensity)
    rows = saved_rows(twin, "benchmarks/points", {"host": "sky"})
    found = {row["run"].rpartition("/")[2]: row for row in rows}
    assert found["cores"]["traffic"] == REQUESTED
    assert float(found["cores"]["intensity"]) == 0.1
    assert found["dram"]["traffic"] == "DRAM"
    assert float(found["dram"]["intensity"]) == 0.5
