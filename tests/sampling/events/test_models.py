"""Configurations for other processors, checked against libpfm4's own verdict."""

import re
from decimal import Decimal

import pytest

from ingest.pmu.kernel import kernel_pmus
from ingest.pmu.models import Processor, pmus_of
from ingest.pmu.pfm import list_models, read_events
from ingest.pmu.roles import formulas, kernel_pmus_of, known_codes, roles
from ingest.pmu.scope import scope_of
from sampling.errors import PerfeventError
from sampling.events.choice import EventSelection, choose
from sampling.events.conf import configuration
from sampling.events.counters import check_counters
from sampling.events.event import split_event
from sampling.events.host import HostPmu, HostPmus, RoleTerm

PROCESSORS = {
    "skx": Processor("GenuineIntel", 6, 85, 4),
    "hsw_ep": Processor("GenuineIntel", 6, 63, 2),
    "bdw": Processor("GenuineIntel", 6, 61, 4),
    "bdw_ep": Processor("GenuineIntel", 6, 79, 1),
    "knl": Processor("GenuineIntel", 6, 87, 1),
    "icl": Processor("GenuineIntel", 6, 126, 5),
    "icx": Processor("GenuineIntel", 6, 106, 6),
    "spr": Processor("GenuineIntel", 6, 143, 8),
    "amd64_fam17h_zen1": Processor("AuthenticAMD", 0x17, 1, 2),
    "amd64_fam17h_zen2": Processor("AuthenticAMD", 0x17, 0x31, 0),
    "amd64_fam19h_zen3": Processor("AuthenticAMD", 0x19, 1, 1),
    "amd64_fam19h_zen4": Processor("AuthenticAMD", 0x19, 0x11, 1),
}
# Its roles need no more counters than it has, and libpfm4's encodings are as named.
NEOVERSE = {"arm_n1": Processor("ARM", 0x41, 0xD0C)}
LISTED = {model["name"]: model for model in list_models()}
# As any kernel has them that knows these devices.
FORMATS = {
    "event": "config:0-7,32-35",
    "umask": "config:8-15",
    "rdwrmask": "config:8-9",
}


def machine(model: str) -> HostPmus:
    """A host with all PMUs of a processor and two threads a core."""
    names = pmus_of((PROCESSORS | NEOVERSE)[model])
    assert names[0] == model
    found = [LISTED[name] for name in [*names, "perf"] if name in LISTED]
    pmus = [
        HostPmu(
            m["name"],
            m["type"],
            scope_of(m["name"], m["type"]),
            m["counters"],
            m["fixed_counters"],
            threads_per_core=2,
        )
        for m in found
    ]
    devices = kernel_pmus_of(model)
    return HostPmus(
        model,
        {pmu.name: pmu for pmu in pmus},
        devices={name: [*kernel_pmus()[name].events] for name in devices},
        formats=dict.fromkeys(devices, FORMATS),
    )


def encode(pmu: str, event: str) -> list[str]:
    found = read_events({pmu: [event]}).get(pmu)
    return found[0]["encoding"] if found else []


def terms(model: str, role: str) -> list[RoleTerm]:
    """The terms of a role as the graph has them."""
    answer = formulas()[role, model]
    if not answer.terms:
        none = Decimal(0)
        return [RoleTerm(model, None, none, None, answer.scope, "", answer.reason)]
    return [
        RoleTerm(
            one.pmu or model,
            one.event,
            one.weight,
            ",".join(encode(one.pmu or model, one.event)) or None,
            answer.scope,
            roles()[role].unit,
            None,
            kernel_pmus()[one.pmu].events[one.event]
            if one.pmu in kernel_pmus()
            else "",
        )
        for one in answer.terms
    ]


def choice_of(model: str, *names: str) -> EventSelection:
    asked = {name: terms(model, name) for name in names}
    return choose(machine(model), asked, [], encode)


def configured(text: str) -> list[tuple[str, str]]:
    """PMU and event of each line of a configuration, without section lines."""
    lines = [line.split()[0] for line in text.splitlines() if "::" in line]
    return [(pmu or "", name) for pmu, name in map(split_event, lines)]


@pytest.mark.parametrize("model", PROCESSORS)
def test_libpfm4_encodes_every_configured_event(model: str) -> None:
    choice = choice_of(model, *roles())
    lines = configured(configuration(machine(model), choice))
    own = [one for one in choice.counted if not one.event.kernel]
    assert len(lines) == len(own) == len(set(lines))
    elsewhere = {pair for pair in lines if not encode(*pair)}
    # RAPL's events depend on the processor that libpfm4 runs on.
    assert elsewhere <= known_codes().keys()
    assert {pmu for pmu, _ in elsewhere} <= {"rapl", "amd64_rapl"}
    assert len(lines) - len(elsewhere) >= 5
    counted = {one.event: one for one in choice.counted}
    for event, one in counted.items():
        if (codes := encode(event.pmu, event.name)) and event.pmu == model:
            assert one.code == int(codes[0], 16)


@pytest.mark.parametrize("model", PROCESSORS)
def test_kernel_events_are_configured_by_the_kernels_formats(model: str) -> None:
    choice = choice_of(model, *roles())
    text = configuration(machine(model), choice)
    kernel = [one for one in choice.counted if one.event.kernel]
    assert {one.event.pmu for one in kernel} == kernel_pmus_of(model)
    # The kernel's own cpumask chooses the CPUs.
    assert text.partition("[dynamic]\n")[2].split() == [
        f"{one.event.pmu}.{one.event.name}" for one in kernel
    ]
    added = [line.split() for line in text.splitlines() if line.startswith("# event ")]
    assert [(pmu, name) for _, _, pmu, name, _ in added] == [
        (one.event.pmu, one.event.name)
        for one in kernel
        if kernel_pmus()[one.event.pmu].events[one.event.name]
    ]
    assert all(re.fullmatch("config=0x[0-9a-f]+", config) for *_, config in added)


@pytest.mark.parametrize("model", PROCESSORS)
def test_missing_role_is_refused_with_its_reason(model: str) -> None:
    choice = choice_of(model, *roles())
    absent = {role for role in roles() if formulas()[role, model].reason}
    assert choice.refused.keys() == absent
    assert {role.role for role in choice.roles} == roles().keys() - absent
    for role, reason in choice.refused.items():
        assert reason == f"{role} on {model}: {formulas()[role, model].reason}"


@pytest.mark.parametrize("model", PROCESSORS)
def test_too_many_roles_are_refused_unless_multiplexed(model: str) -> None:
    host, choice = machine(model), choice_of(model, *roles())
    with pytest.raises(PerfeventError, match=f"{model} of {model} has . general"):
        check_counters(host, choice, multiplex=False)
    assert any("% of the time" in line for line in check_counters(host, choice, True))


@pytest.mark.parametrize(
    ("model", "names", "fits"),
    [
        ("skx", ["FLOPsDouble", "Cycles", "Instructions", "DramTraffic"], True),
        ("skx", ["FLOPs"], False),
        ("icx", ["FLOPs", "Cycles", "Instructions"], True),
        ("icx", ["FLOPs", "L1Misses"], False),
        ("icl", ["FLOPs"], True),
        # Each Zen has a pair of counters for FLOPs.
        ("amd64_fam17h_zen2", ["FLOPs", "Cycles", "Instructions", "Loads"], True),
        ("amd64_fam17h_zen2", ["FLOPs", "L2Misses", "Loads", "Stores"], False),
        ("amd64_fam19h_zen3", ["FLOPs", "L2Misses", "Loads"], True),
        ("amd64_fam19h_zen4", ["FLOPs", "L2Misses", "Loads", "Stores"], False),
    ],
)
def test_events_must_fit_the_counters_of_a_thread(
    model: str, names: list[str], fits: bool
) -> None:
    host, choice = machine(model), choice_of(model, *names)
    assert not choice.refused
    if fits:
        assert check_counters(host, choice, multiplex=False) == []
    else:
        with pytest.raises(PerfeventError, match="fewer events, or allow multiplexing"):
            check_counters(host, choice, multiplex=False)


def test_event_of_another_model_is_refused() -> None:
    choice = choose(
        machine("amd64_fam19h_zen4"), {}, ["CYCLE_ACTIVITY:STALLS_L1D_MISS"], encode
    )
    (reason,) = choice.refused.values()
    assert reason.startswith("amd64_fam19h_zen4 has no event CYCLE_ACTIVITY")
