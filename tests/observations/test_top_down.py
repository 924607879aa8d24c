"""Top-down analysis of a run: shares of slots, and what divides them further."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

import pytest

from core.stores.endpoint import Endpoint
from ingest.pmu.figures import figure_formulas
from ingest.pmu.roles import formulas
from ingest.pmu.store import publish_roles
from observations.derived import (
    ExpressionFigure,
    HostRole,
    WeightedEvent,
    derive,
    less_is_better,
)
from observations.record import RunSpec, Summary
from observations.session.roles import read_figures, read_roles
from observations.statistics import Statistics
from tests.counting_hosts import IRIS, publish_host
from tests.observations.totals import COVERED, SECONDS, recorded
from tests.servers import Fuseki
from virtual_telemetry.expression import parse

SLOTS = {
    "skx::CPU_CLK_UNHALTED:THREAD_P": 1e9,
    "skx::UOPS_RETIRED:RETIRE_SLOTS": 1.2e9,
    "skx::UOPS_ISSUED:ANY": 1.5e9,
    "skx::INT_MISC:RECOVERY_CYCLES": 0.125e9,
    "skx::IDQ_UOPS_NOT_DELIVERED:CORE": 0.4e9,
    "skx::IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE": 0.05e9,
}
# What the formulas of level 2 need in addition.
LEVEL_2 = {
    "skx::CYCLE_ACTIVITY:STALLS_MEM_ANY": 0.3e9,
    "skx::CYCLE_ACTIVITY:STALLS_TOTAL": 0.5e9,
    "skx::EXE_ACTIVITY:BOUND_ON_STORES": 0.1e9,
    "skx::EXE_ACTIVITY:1_PORTS_UTIL": 0.05e9,
    "skx::EXE_ACTIVITY:2_PORTS_UTIL": 0.5e9,
    "skx::BR_MISP_RETIRED:ALL_BRANCHES": 3e6,
    "skx::MACHINE_CLEARS:COUNT": 1e6,
}


@pytest.fixture(scope="module")
def twin(emptied_fuseki: Fuseki) -> Iterator[Endpoint]:
    """A store with the roles and a Skylake-X."""
    with Endpoint(f"{emptied_fuseki.url}/twin") as endpoint:
        publish_roles(endpoint, IRIS)
        publish_host(endpoint, "sky")
        publish_host(endpoint, "hybrid")
        yield endpoint


def roles_of(twin: Endpoint, counted: Mapping[str, float]) -> list[HostRole]:
    names = {one.metric for one in recorded(counted, 0)}
    return read_roles(twin, RunSpec("sky", ("x",), (0,)), "run-a", names)


def test_shares_of_the_slots_of_a_skylake(twin: Endpoint) -> None:
    roles = roles_of(twin, SLOTS)
    found = {one.name: one for one in derive(roles, recorded(SLOTS, 0, 1), SECONDS)}
    shares = {
        "retiring": 0.3,
        "bad speculation": 0.2,
        "front-end bound": 0.1,
        "fetch latency": 0.05,
        "back-end bound": 0.4,
    }
    values = {name: found[name].value for name in shares}
    assert values == pytest.approx(shares)
    assert found["Slots"].value == pytest.approx(4e9)


def test_level_2_of_a_skylake(twin: Endpoint) -> None:
    counted = SLOTS | LEVEL_2
    roles = roles_of(twin, counted)
    given = recorded(counted, 0)
    shares = derive(roles, given, SECONDS, read_figures(twin, "sky"))
    found = {one.name: one for one in shares}
    retiring, wrong, front, back = 0.3, 0.2, 0.1, 0.4
    memory = back * 0.4 / (0.65 + retiring * 0.5)
    values = {name: one.value for name, one in found.items() if " " in name}
    assert {name: one for name, one in values.items() if one is not None} == (
        pytest.approx(
            {
                "bad speculation": wrong,
                "branch mispredicts": wrong * 0.75,
                "machine clears": wrong * 0.25,
                "front-end bound": front,
                "fetch latency": 0.05,
                "fetch bandwidth": 0.05,
                "back-end bound": back,
                "memory bound": memory,
                "core bound": back - memory,
            }
        )
    )
    assert found["memory bound"].unit.endswith("/UNITLESS")
    assert "SlotsRetiring" in found["memory bound"].roles
    assert less_is_better("memory bound") is True
    assert less_is_better("light operations") is False


def test_level_2_without_a_branch_has_a_reason(twin: Endpoint) -> None:
    counted = SLOTS | LEVEL_2 | dict.fromkeys([*LEVEL_2][-2:], 0.0)
    roles = roles_of(twin, counted)
    shares = derive(roles, recorded(counted, 0), SECONDS, read_figures(twin, "sky"))
    (clears,) = (one for one in shares if one.name == "machine clears")
    assert clears.reason.endswith(" is 0")
    assert clears.value is None


def test_every_expression_is_over_roles() -> None:
    for formula in figure_formulas().values():
        figure = ExpressionFigure(formula.figure, parse(formula.expression))
        assert figure.roles == formula.roles
        assert ("Slots" in figure.roles) == (formula.level is not None)
        # Each of its roles has a formula on that model.
        assert all(formulas()[role, formula.model].terms for role in figure.roles)


def test_channels_of_different_sockets_are_added() -> None:
    """Each has instances of its own; those of the other are not missing."""
    terms = [
        WeightedEvent(name, Decimal(64), name, f"{name}.duty")
        for name in ("amd_umc_0", "amd_umc_12")
    ]
    role = HostRole("DramTraffic", "", tuple(terms), apart=True)
    value, duty = (
        Statistics(0, total=1e6, covered=COVERED),
        Statistics(0, mean=1.0, median=1.0),
    )
    summaries = [
        Summary(name, "", cpu, figures)
        for channel, cpu in (("amd_umc_0", "cpu0"), ("amd_umc_12", "cpu96"))
        for name, figures in ((channel, value), (f"{channel}.duty", duty))
    ]
    (total,) = (
        one for one in derive([role], summaries, SECONDS) if one.name == role.name
    )
    assert total.value == 2 * 64e6
    (missing,) = derive([replace(role, apart=False)], summaries, SECONDS)[:1]
    assert "was not counted on" in missing.reason


def test_run_on_one_kind_of_core_needs_no_event_of_the_other() -> None:
    terms = (
        WeightedEvent("p", Decimal(1), "p", "p.duty"),
        WeightedEvent("e", Decimal(1), "e", "e.duty"),
    )
    role = HostRole("Cycles", "", terms, frozenset({"cpu0"}), apart=True)
    total = Statistics(0, total=5.0, covered=COVERED)
    duty = Statistics(0, mean=1.0, median=1.0)
    summaries = [
        Summary(name, "", cpu, figures)
        for event, cpu in (("p", "cpu0"), ("p", "cpu1"), ("e", "cpu16"))
        for name, figures in ((event, total), (f"{event}.duty", duty))
    ]
    (cycles,) = derive([role], summaries, SECONDS)[:1]
    assert cycles.value == 5.0


def test_processor_with_two_kinds_of_cores_has_no_level_2(twin: Endpoint) -> None:
    assert read_figures(twin, "hybrid") == []
    assert read_figures(twin, "sky")
