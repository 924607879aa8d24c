"""Events in passes: each fits the counters of a host, and there are few of them."""

import pytest

from ingest.pmu.roles import formulas, roles
from sampling.counters.passes import COMMON_EVENT, COMMON_ROLE, PassPlan, passes_of
from sampling.errors import PerfeventError
from sampling.events.counters import needs
from sampling.events.host import HostPmu
from sampling.events.passes import CountingPass, group_events
from tests.sampling.events.test_choice import chosen, sky
from tests.sampling.events.test_models import NEOVERSE, PROCESSORS, choice_of, machine
from tests.sampling.events.test_models import terms as terms_of

FLOPS = tuple(role for role in roles() if role.startswith("FLOPs"))
DEVICES = {"armv8_pmuv3_0": [f"event{number}" for number in range(7)]}
LETTERS = tuple(f"FP:{letter}" for letter in "ABCDEF")


def plan(model: str, *names: str) -> PassPlan:
    common = {COMMON_ROLE: terms_of(model, COMMON_ROLE)}
    return passes_of(machine(model), choice_of(model, *names), common)


def measurable(model: str) -> list[str]:
    return [role for role in roles() if not formulas()[role, model].reason]


def events_of(model: str, one: CountingPass) -> set[str]:
    counted = choice_of(model, *one.roles).counted
    return {str(event.event) for event in counted} | {*one.events}


@pytest.mark.parametrize("model", PROCESSORS | NEOVERSE)
def test_passes_of_all_roles_fit_and_count_everything(model: str) -> None:
    names = measurable(model)
    found, choice = plan(model, *names), choice_of(model, *names)
    by_name = {str(one.event): one for one in choice.counted}
    counted = [events_of(model, one) for one in found.passes]
    assert set.union(*counted) == by_name.keys()
    for events in counted:
        for need in needs(machine(model), [by_name[event] for event in events]):
            assert need.there is None or need.needed <= need.there


@pytest.mark.parametrize(
    ("model", "number"),
    [
        # 10 events on 4 counters, of which 4 are of single and 4 of double precision.
        ("skx", 2),
        # Eight counters a thread, and eight events.
        ("icx", 1),
        ("spr", 1),
        # One event that takes two of six counters.
        ("amd64_fam19h_zen4", 1),
    ],
)
def test_all_roles_of_flops_need_few_passes(model: str, number: int) -> None:
    names = [role for role in FLOPS if role in measurable(model)]
    found = plan(model, *names)
    assert len(found.passes) == number
    assert found.common.startswith(f"{model}::")
    assert all(COMMON_ROLE in one.roles for one in found.passes)


def test_role_that_needs_more_events_than_a_pass_is_in_none() -> None:
    single, double = sorted(plan("skx", "FLOPs", "FLOPsSingle", "FLOPsDouble").passes)
    assert {*single.roles} ^ {*double.roles} == {"FLOPsSingle", "FLOPsDouble"}
    assert not single.events + double.events
    alone = plan("skx", "FLOPs").passes
    assert [one.roles for one in alone] == [("Instructions",)] * 2
    assert [len(one.events) for one in alone] == [4, 4]


@pytest.mark.parametrize(
    ("model", "number"),
    [("skx", 9), ("spr", 4), ("amd64_fam19h_zen4", 4), ("arm_n1", 1)],
)
def test_number_of_passes_for_all_roles(model: str, number: int) -> None:
    host, choice = machine(model), choice_of(model, *measurable(model))
    (core,) = (n for n in needs(host, choice.counted) if n.pmu == model)
    assert core.there is not None
    assert number >= -(-core.needed // core.there)
    assert len(plan(model, *measurable(model)).passes) == number


def test_neoverse_has_six_counters_and_one_for_cycles() -> None:
    (one,) = plan("arm_n1", *measurable("arm_n1")).passes
    of_core = {e for e in events_of("arm_n1", one) if e.startswith("arm_n1::")}
    assert len(of_core) == 7
    core = HostPmu("arm_n1", "core", "thread")
    host = sky(pmus={"arm_n1": core}, devices=DEVICES)
    names = (f"armv8_pmuv3_0::event{number}" for number in range(7))
    choice = chosen(*names, host=host)
    assert [len(one.events) for one in group_events(host, choice)] == [6, 1]


def test_common_event_costs_no_pass() -> None:
    """Six events fill the counters of Zen 4, so instructions are left out."""
    model = "amd64_fam19h_zen4"
    full = ("FLOPs", "Loads", "Stores", "L1Misses", "Cycles")
    assert plan(model, *full) == PassPlan((CountingPass(full),))
    kernel = sky(pmus=machine(model).pmus, devices={"software": []})
    common = {COMMON_ROLE: terms_of(model, COMMON_ROLE)}
    found = passes_of(kernel, choice_of(model, *full), common)
    assert found == PassPlan((CountingPass(full, (COMMON_EVENT,)),), COMMON_EVENT)


def test_threads_share_counters_and_a_limit_is_kept() -> None:
    choice = chosen(*LETTERS)
    sizes = [len(one.events) for one in group_events(sky(), choice)]
    assert sizes == [4, 2]
    alone = sky(pmus={"skx": HostPmu("skx", "core", "thread", 8, 3, 1, True)})
    assert [len(one.events) for one in group_events(alone, choice)] == [6]
    assert len(group_events(alone, choice, most=2)) == 3


def test_events_without_counters_are_limited_only_on_request() -> None:
    choice = chosen("software::page-faults", "software::task-clock", "msr::tsc")
    assert len(group_events(sky(), choice)) == 1
    common = chosen("software::page-faults").counted
    assert len(group_events(sky(), choice, common=common, most=1)) == 2


def test_counters_of_other_plans_are_left_to_them() -> None:
    choice, taken = chosen(*LETTERS[:4]), chosen(*LETTERS[4:]).counted
    assert [len(one.events) for one in group_events(sky(), choice, taken)] == [2, 2]
    full = chosen(*LETTERS[:4]).counted
    with pytest.raises(PerfeventError, match="skx::FP:F fits no pass on sky"):
        group_events(sky(), chosen("FP:F"), full)


def test_search_finds_fewer_groups_than_first_fit() -> None:
    """First fit needs three groups for these sizes; two suffice."""
    alone = {name: HostPmu(name, "core", "thread", 12, 0, 1, True) for name in ("skx",)}
    host = sky(pmus=alone)
    choice = chosen(*LETTERS, host=host)
    assert len(group_events(host, choice, most=3)) == 2
