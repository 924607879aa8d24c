"""From roles and events to a configuration: what is chosen, what is refused."""

from decimal import Decimal

import pytest

from sampling.errors import PerfeventError
from sampling.events.choice import EventSelection, choose
from sampling.events.conf import configuration
from sampling.events.counters import check_counters, needs
from sampling.events.event import PmuEvent, split_event
from sampling.events.host import CounterLocation, HostPmu, HostPmus, RoleTerm

CODES = {
    ("skx", "INST_RETIRED:ANY_P"): "0x5300c0",
    ("skx", "CPU_CLK_UNHALTED:THREAD_P"): "0x53003c",
    ("skx", "OFFCORE_RESPONSE_0:DMND_DATA_RD"): "0x5301b7,0x10001",
    **{("skx", f"FP:{letter}"): "0x5301c7" for letter in "ABCDEF"},
    ("skx", "FP:A=1"): "0x5301c7",
    ("skx", "FP:A_1"): "0x5301c7",
    ("skx_unc_imc0", "CAS:RD"): "0x304",
    ("skx_unc_imc1", "CAS:RD"): "0x304",
    ("perf", "PERF_COUNT_SW_PAGE_FAULTS"): "0x2",
}
PLACES = {
    "socket": [
        CounterLocation("s/socket-0", 0, True),
        CounterLocation("s/socket-16", 16, True),
    ]
}


def encode(pmu: str, event: str) -> list[str]:
    return CODES.get((pmu, event), "").split(",") if (pmu, event) in CODES else []


def sky(**changed: object) -> HostPmus:
    pmus = [
        HostPmu("ix86arch", "core", "thread", 0, 0, 2, True),
        HostPmu("perf", "os", "host", 0, 0, 2, True),
        HostPmu("skx", "core", "thread", 8, 3, 2, True),
        HostPmu("skx_unc_imc0", "uncore", "socket", 4, 1, 2, True),
        HostPmu("skx_unc_imc1", "uncore", "socket", 4, 1, 2, True),
        HostPmu("skx_unc_imc2", "uncore", "socket", 4, 1, 2, False),
    ]
    given: dict[str, object] = {
        "host": "sky",
        "pmus": {pmu.name: pmu for pmu in pmus},
        "places": PLACES,
        "devices": {"software": [], "msr": ["tsc"], "cpu": ["branch-misses"]},
    }
    return HostPmus(**{**given, **changed})  # type: ignore[arg-type]


def term(pmu: str, event: str, reason: str | None = None, scope: str = "socket"):
    code = CODES.get((pmu, event))
    return RoleTerm(pmu, event, Decimal(64), code, scope, "unit:BYTE", reason)


def chosen(*events: str, host: HostPmus | None = None) -> EventSelection:
    return choose(host or sky(), {}, events, encode)


def refusal(*events: str, host: HostPmus | None = None) -> str:
    choice = chosen(*events, host=host)
    assert not choice.counted
    return "; ".join(choice.refused.values())


def test_event_names_match_the_agent() -> None:
    event = PmuEvent("skx_unc_imc0", "UNC_M_CAS_COUNT:RD")
    name = "perfevent.hwcounters.skx_unc_imc0__UNC_M_CAS_COUNT_RD"
    assert (event.value, event.dutycycle) == (f"{name}.value", f"{name}.dutycycle")
    assert event.value_series == f"{name}.value".replace(".", "_")
    tsc = PmuEvent("software", "page-faults", kernel=True)
    assert tsc.configured == "software.page-faults"
    assert tsc.value == "perfevent.hwcounters.software.page_faults.value"


@pytest.mark.parametrize("text", ["", "a b", "x::", "::A", "A\nB", "[dynamic]", "#A"])
def test_invalid_event_is_refused(text: str) -> None:
    with pytest.raises(PerfeventError, match="is not an event: write PMU::EVENT:UMASK"):
        split_event(text)


def test_configuration_holds_both_sections() -> None:
    choice = chosen(
        "INST_RETIRED:ANY_P",
        "skx_unc_imc0::CAS:RD",
        "perf::PERF_COUNT_SW_PAGE_FAULTS",
        "software::page-faults",
        "msr::tsc",
        "skx::INST_RETIRED:ANY_P",
    )
    assert not choice.refused
    assert configuration(sky(), choice).splitlines()[1:] == [
        "[skx perf]",
        "skx::INST_RETIRED:ANY_P",
        "skx_unc_imc0::CAS:RD node",
        "perf::PERF_COUNT_SW_PAGE_FAULTS",
        "",
        "[dynamic]",
        "software.page-faults",
        "msr.tsc",
    ]


def test_kernel_events_alone_need_a_section() -> None:
    text = configuration(sky(), chosen("msr::tsc"))
    assert text.index("[skx perf]") < text.index("[dynamic]")


def test_each_refusal_names_the_event_and_its_reason() -> None:
    assert "skx has no event NOPE" in refusal("NOPE")
    assert "`supertwin catalogue pmu skx` lists its events" in refusal("skx::NOPE")
    assert refusal("zen::A").startswith("sky has no PMU zen")
    assert "does not offer this PMU" in refusal("skx_unc_imc2::CAS:RD")
    assert "has no event tscc of msr: it has tsc" in refusal("msr::tscc")
    assert "it has alignment-faults, " in refusal("software::faults")
    two = sky(pmus={n: HostPmu(n, "core", "thread") for n in ("adl_glc", "adl_grt")})
    assert "(adl_glc, adl_grt): write PMU::EVENT" in refusal("A", host=two)


def test_refused_event_leaves_the_others() -> None:
    choice = chosen("NOPE", "FP:A")
    assert [str(one.event) for one in choice.counted] == ["skx::FP:A"]
    assert list(choice.refused) == ["NOPE"]


def test_role_has_each_event_once_without_missing_channels() -> None:
    terms = [
        term("skx_unc_imc0", "CAS:RD"),
        term("skx_unc_imc1", "CAS:RD"),
        term("skx_unc_imc2", "CAS:RD", "the kernel of this host does not offer it"),
    ]
    choice = choose(sky(), {"A": terms, "B": terms[:1]}, [], encode)
    assert not choice.refused
    assert [one.event.pmu for one in choice.counted] == ["skx_unc_imc0", "skx_unc_imc1"]
    assert [len(role.terms) for role in choice.roles] == [2, 1]


def test_role_without_formula_gives_its_reason() -> None:
    absent = RoleTerm(
        "zen", None, Decimal(0), None, "thread", "", "Zen 2 has no event for stalls"
    )
    choice = choose(sky(), {"L1Stalls": [absent]}, [], encode)
    assert choice.refused == {
        "L1Stalls": "L1Stalls on sky: Zen 2 has no event for stalls"
    }
    gone = [term("skx", "FP:A", scope="thread"), term("skx", "FP:B", "no", "thread")]
    assert choose(sky(), {"R": gone}, [], encode).refused == {"R": "R on sky: no"}


def test_roles_with_the_same_reason_are_named_together() -> None:
    absent = [term("skx", "FP:A", "no such event", "thread")]
    choice = choose(sky(), {"A": absent, "B": absent}, ["NOPE"], encode)
    same, other = choice.refusals
    assert same == "A, B on sky: no such event"
    assert other.startswith("skx has no event NOPE")


def test_socket_where_the_agent_does_not_count_is_refused() -> None:
    half = {"socket": [PLACES["socket"][0], CounterLocation("s/socket-16", 16, False)]}
    assert "would leave out socket-16" in refusal(
        "skx_unc_imc0::CAS:RD", host=sky(places=half)
    )


def test_two_events_of_one_metric_are_refused() -> None:
    with pytest.raises(PerfeventError, match="have the same metric in PCP"):
        chosen("FP:A=1", "FP:A_1")


def test_two_threads_share_the_counters_of_a_core() -> None:
    four = chosen(*(f"FP:{letter}" for letter in "ABCD"))
    assert check_counters(sky(), four, multiplex=False) == []
    five = chosen(*(f"FP:{letter}" for letter in "ABCDE"))
    with pytest.raises(PerfeventError, match="4 general counters, but 5 are needed"):
        check_counters(sky(), five, multiplex=False)
    (line,) = check_counters(sky(), five, multiplex=True)
    assert line.endswith("each event is counted 80% of the time")
    alone = HostPmu("skx", "core", "thread", 8, 3, 1, True)
    assert check_counters(sky(pmus={"skx": alone}), five, multiplex=False) == []


def test_kernels_events_of_arm_take_counters_of_the_core() -> None:
    device = "armv8_pmuv3_0"
    core = HostPmu("arm_n1", "core", "thread", 6, 1, 1, True)
    names = [f"event{number}" for number in range(7)]
    arm = sky(pmus={"arm_n1": core}, devices={device: names})
    choice = chosen(*(f"{device}::{name}" for name in names), host=arm)
    (need,) = needs(arm, choice.counted)
    assert (need.pmu, need.needed, need.there) == ("arm_n1", 7, 6)


def test_fixed_counters_are_used_first() -> None:
    names = [f"FP:{letter}" for letter in "ABCD"]
    choice = chosen("INST_RETIRED:ANY_P", "CPU_CLK_UNHALTED:THREAD_P", *names)
    assert [(need.needed, need.there) for need in needs(sky(), choice.counted)] == [
        (4, 4)
    ]


def test_watchdog_of_the_kernel_holds_a_counter() -> None:
    host = sky(watchdog=True)
    four = chosen(*(f"FP:{letter}" for letter in "ABCD"))
    assert check_counters(host, four, multiplex=False) == []
    cycles = chosen("CPU_CLK_UNHALTED:THREAD_P", *(f"FP:{x}" for x in "ABCD"))
    assert check_counters(sky(), cycles, multiplex=False) == []
    with pytest.raises(PerfeventError, match="needed with the kernel's NMI watchdog"):
        check_counters(host, cycles, multiplex=False)


def test_events_of_the_kernel_cpu_pmu_use_core_counters() -> None:
    choice = chosen("FP:A", "cpu::branch-misses", "software::page-faults", "msr::tsc")
    (need,) = needs(sky(), choice.counted)
    assert (need.pmu, need.needed, need.there) == ("skx", 2, 4)


def test_each_channel_has_its_own_counters() -> None:
    choice = chosen("skx_unc_imc0::CAS:RD", "skx_unc_imc1::CAS:RD")
    assert [(n.pmu, n.needed, n.there) for n in needs(sky(), choice.counted)] == [
        ("skx_unc_imc0", 1, 4),
        ("skx_unc_imc1", 1, 4),
    ]


def test_unknown_number_of_counters_is_reported() -> None:
    host = sky(pmus={"arm_v2": HostPmu("arm_v2", "core", "thread")})
    choice = choose(host, {}, ["INST_RETIRED"], lambda *_: ["0x8"])
    (line,) = check_counters(host, choice, multiplex=False)
    assert line.startswith("the number of counters of arm_v2 is unknown")


def test_off_core_event_is_recognised_by_its_first_register() -> None:
    choice = chosen("OFFCORE_RESPONSE_0:DMND_DATA_RD")
    assert [one.code for one in choice.counted] == [0x5301B7]
