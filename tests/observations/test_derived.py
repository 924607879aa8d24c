"""Derived figures of runs, by formulas of real processors, from recorded totals."""

from collections.abc import Iterator, Mapping

import pytest

from core.stores.endpoint import Endpoint
from ingest.pmu.store import publish_roles
from observations.derived import HostRole, derive, less_is_better
from observations.record import DerivedFigure, RunSpec, Summary
from observations.session.roles import read_roles
from tests.counting_hosts import IRIS, add, publish_host, request
from tests.observations.totals import COVERED, SECONDS, recorded
from tests.servers import Fuseki

ROLES = ("Instructions", "Cycles", "FLOPs", "FLOPsDouble", "DramTraffic")
FP = "FP_ARITH_INST_RETIRED"
COUNTED = {
    "skx::INST_RETIRED:ANY_P": 6e9,
    "skx::CPU_CLK_UNHALTED:THREAD_P": 4e9,
    f"skx::{FP}:SCALAR_DOUBLE": 1e9,
    f"skx::{FP}:128B_PACKED_DOUBLE": 2e8,
    f"skx::{FP}:256B_PACKED_DOUBLE": 3e8,
    f"skx::{FP}:512B_PACKED_DOUBLE": 4e8,
    f"skx::{FP}:SCALAR_SINGLE": 5e8,
    f"skx::{FP}:128B_PACKED_SINGLE": 0.0,
    f"skx::{FP}:256B_PACKED_SINGLE": 1e8,
    f"skx::{FP}:512B_PACKED_SINGLE": 0.0,
    **{f"skx_unc_imc{box}::UNC_M_CAS_COUNT:RD": 1e7 for box in range(6)},
    **{f"skx_unc_imc{box}::UNC_M_CAS_COUNT:WR": 5e6 for box in range(6)},
    "rapl::RAPL_ENERGY_PKG": 100 * 2**32,
}
# The formulas of a Skylake-X for one thread, worked out by hand.
DOUBLE = 1e9 + 2 * 2e8 + 4 * 3e8 + 8 * 4e8
FLOPS = DOUBLE + 5e8 + 8 * 1e8
BYTES = 64 * 6 * 1.5e7


@pytest.fixture(scope="module")
def twin(emptied_fuseki: Fuseki) -> Iterator[Endpoint]:
    """A store with the roles, a Skylake-X and a Zen 4, each with a plan."""
    with Endpoint(f"{emptied_fuseki.url}/twin") as endpoint:
        publish_roles(endpoint, IRIS)
        for host in ("sky", "zen4"):
            publish_host(endpoint, host)
        more = {"multiplex": True}
        add(endpoint, request("sky", "run-a", *ROLES, "EnergyPackage", **more))
        add(endpoint, request("zen4", "run-a", "Instructions", "Cycles", "FLOPs"))
        yield endpoint


def roles_of(
    twin: Endpoint, host: str, *cpus: int, counted: Mapping[str, float] = COUNTED
) -> list[HostRole]:
    asked = RunSpec(host, ("x",), cpus)
    names = {one.metric for one in recorded(counted, 0)}
    return read_roles(twin, asked, "run-a", names)


def figures(
    twin: Endpoint, summaries: list[Summary], *cpus: int, host: str = "sky"
) -> dict[str, DerivedFigure]:
    roles = roles_of(twin, host, *cpus)
    return {one.name: one for one in derive(roles, summaries, SECONDS)}


def test_figures_of_a_skylake(twin: Endpoint) -> None:
    """Only threads of the run count; each memory controller counts once."""
    found = figures(twin, recorded(COUNTED, 0, 1, 2, 3), 1, 2)
    values = {name: one.value for name, one in found.items()}
    assert values == pytest.approx(
        {
            "Instructions": 2 * 6e9,
            "Cycles": 2 * 4e9,
            # All of its events were counted, too.
            "Slots": 2 * 4 * 4e9,
            "FLOPs": 2 * FLOPS,
            "FLOPsDouble": 2 * DOUBLE,
            "FLOPsSingle": 2 * (FLOPS - DOUBLE),
            "DramTraffic": BYTES,
            "EnergyPackage": 100.0,
            "IPC": 1.5,
            "FLOP rate": 2 * FLOPS / SECONDS,
            "double FLOP rate": 2 * DOUBLE / SECONDS,
            "single FLOP rate": 2 * (FLOPS - DOUBLE) / SECONDS,
            "memory bandwidth": BYTES / SECONDS,
            "arithmetic intensity": 2 * FLOPS / BYTES,
            "double arithmetic intensity": 2 * DOUBLE / BYTES,
            "package power": 100.0 / COVERED,
            "instructions per joule": 2 * 6e9 / 100,
            "FLOPs per joule": 2 * FLOPS / 100,
        }
    )
    assert {one.dutycycle for one in found.values()} == {1.0}
    assert {one.covered for one in found.values()} == {COVERED}
    units = {name: one.unit.rpartition("/")[2] for name, one in found.items()}
    assert (units["FLOP rate"], units["package power"]) == ("FLOPS", "W")
    assert (units["EnergyPackage"], units["DramTraffic"]) == ("J", "BYTE")
    assert found["IPC"].roles == ("Instructions", "Cycles")


def test_unpinned_run_includes_all_threads(twin: Endpoint) -> None:
    found = figures(twin, recorded(COUNTED, 0, 1, 2, 3))
    assert found["Instructions"].value == pytest.approx(4 * 6e9)
    assert found["DramTraffic"].value == pytest.approx(BYTES)


def test_figures_of_a_zen_without_a_memory_controller(twin: Endpoint) -> None:
    events = {
        "amd64_fam19h_zen4::RETIRED_INSTRUCTIONS": 8e9,
        "amd64_fam19h_zen4::CYCLES_NOT_IN_HALT": 2e9,
        "amd64_fam19h_zen4::RETIRED_SSE_AVX_FLOPS:ADD_SUB_FLOPS:MULT_FLOPS"
        ":DIV_FLOPS:MAC_FLOPS": 3e9,
    }
    found = figures(twin, recorded(events, 0), 0, host="zen4")
    values = {name: one.value for name, one in found.items()}
    assert values == pytest.approx(
        {"Instructions": 8e9, "Cycles": 2e9, "FLOPs": 3e9, "IPC": 4, "FLOP rate": 1.5e9}
    )


def without(event: str) -> dict[str, float]:
    return {name: total for name, total in COUNTED.items() if name != event}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (
            recorded(without("skx::INST_RETIRED:ANY_P"), 0),
            "skx::INST_RETIRED:ANY_P was not counted on cpu0 in this run",
        ),
        (
            recorded(COUNTED, 0, duty=0.0),
            "skx::INST_RETIRED:ANY_P never had a counter: too many were requested",
        ),
        (
            recorded(COUNTED, 0, duty=None),
            "it is unknown whether skx::INST_RETIRED:ANY_P had a counter",
        ),
        (
            recorded(COUNTED, 0, covered=1.2),
            "skx::INST_RETIRED:ANY_P was counted for 1.2 s of 2 s",
        ),
        (
            recorded(COUNTED, 0, covered=1234.567),
            "skx::INST_RETIRED:ANY_P is known for 1234.567 s together, of which the "
            "run took 2 s",
        ),
        (
            recorded(COUNTED, 0, covered=60),
            "skx::INST_RETIRED:ANY_P is known for 60 s together, of which the run "
            "took 2 s",
        ),
    ],
)
def test_missing_figure_has_its_reason(
    twin: Endpoint, changed: list[Summary], reason: str
) -> None:
    found = figures(twin, changed, 0)
    for name in ("Instructions", "IPC"):
        assert (found[name].value, found[name].reason) == (None, reason)


def test_figure_needs_all_threads_of_the_run(twin: Endpoint) -> None:
    summaries = recorded(COUNTED, 0) + recorded(without(f"skx::{FP}:SCALAR_DOUBLE"), 1)
    found = figures(twin, summaries, 0, 1)
    assert found["FLOPsDouble"].reason.endswith("was not counted on cpu1 in this run")
    assert found["FLOPsSingle"].value == pytest.approx(2 * (FLOPS - DOUBLE))
    assert found["arithmetic intensity"].value is None


def test_multiplexed_counts_give_a_marked_estimate(twin: Endpoint) -> None:
    cycles = "skx::CPU_CLK_UNHALTED:THREAD_P"
    summaries = recorded(without(cycles), 0)
    summaries += recorded({cycles: COUNTED[cycles]}, 0, duty=0.4)
    found = figures(twin, summaries, 0)
    assert (found["Cycles"].dutycycle, found["IPC"].dutycycle) == (0.4, 0.4)
    assert found["IPC"].value == pytest.approx(1.5)
    assert found["FLOP rate"].dutycycle == 1.0


def test_ratio_with_zero_divisor_has_a_reason(twin: Endpoint) -> None:
    totals = {**COUNTED, "skx::CPU_CLK_UNHALTED:THREAD_P": 0.0}
    found = figures(twin, recorded(totals, 0), 0)
    assert (found["IPC"].value, found["IPC"].reason) == (None, "Cycles is 0")


def test_role_missing_on_the_host_has_a_reason(twin: Endpoint) -> None:
    """For example where a run is recorded after its host was probed again."""
    add(twin, request("sky", "run-b", "DramTraffic", multiplex=True))
    twin.update(
        f"""PREFIX st: <https://w3id.org/supertwin/ns#>
        DELETE {{ GRAPH ?g {{ ?plan st:ofHost <{IRIS.host("sky")}> }} }}
        INSERT {{ GRAPH ?g {{ ?plan st:ofHost <{IRIS.host("zen4")}> }} }}
        WHERE {{ GRAPH ?g {{ ?plan st:planName "run-b" ;
          st:ofHost <{IRIS.host("sky")}> }} }}"""
    )
    asked = RunSpec("zen4", ("x",))
    (role,) = read_roles(twin, asked, "run-b", ["perfevent.hwcounters.x.value"])
    found = {one.name: one for one in derive([role], [], SECONDS)}
    assert found.keys() == {"DramTraffic", "memory bandwidth"}
    for one in found.values():
        assert one.value is None
        assert one.reason.startswith("DramTraffic on zen4: ")


def test_run_without_counters_runs_no_query(twin: Endpoint) -> None:
    assert read_roles(twin, RunSpec("sky", ("x",)), "run-a", ["kernel.all.load"]) == []


def test_role_that_was_not_requested_needs_all_its_events(twin: Endpoint) -> None:
    """The single-precision events are also part of FLOPs."""
    asked = RunSpec("sky", ("x",), (0,))
    double = [name for name in COUNTED if name.endswith("_DOUBLE")]
    names = {one.metric for one in recorded(dict.fromkeys(double, 0.0), 0)}
    found = [role.name for role in read_roles(twin, asked, "no-plan", names)]
    assert found == ["FLOPsDouble"]


def test_figure_has_a_better_direction() -> None:
    more = {"IPC", "FLOP rate", "memory bandwidth"}
    less = {"package power", "DRAM power"}
    unknown = {"Instructions", "mem.vmstat.pgfault"}
    assert {*map(less_is_better, more)} == {False}
    assert {*map(less_is_better, less)} == {True}
    assert {*map(less_is_better, unknown)} == {None}
