"""Configurations from the graph, for machines other than this one."""

import pytest

from core.stores.endpoint import Endpoint
from ingest.pmu.pfm import read_events
from ontology.iris import Iris
from sampling.errors import PerfeventError
from sampling.events.choice import EventSelection, choose
from sampling.events.conf import configuration
from sampling.events.counters import check_counters
from sampling.events.expression import role_expression
from sampling.events.host import HostPmus, read_host, read_role

IRIS = Iris("http://localhost:8000")


def encode(pmu: str, event: str) -> list[str]:
    found = read_events({pmu: [event]}).get(pmu)
    return found[0]["encoding"] if found else []


def chosen(
    endpoint: Endpoint, host: str, *roles: str
) -> tuple[HostPmus, EventSelection]:
    known = read_host(endpoint, host)
    terms = {role: read_role(endpoint, host, role) for role in roles}
    return known, choose(known, terms, [], encode)


def test_machines_without_hardware_here_are_answered(machines: Endpoint) -> None:
    """A single test, so that Fuseki is started and loaded only once."""
    host, choice = chosen(machines, "sky", "FLOPsDouble", "DramTraffic", "Cycles")
    # The firmware made one NUMA domain of both sockets.
    assert [(place.cpu, place.counted) for place in host.places["socket"]] == [
        (0, True),
        (1, False),
    ]
    assert choice.refused.keys() == {"DramTraffic"}
    assert choice.refused["DramTraffic"].endswith("would leave out socket-1")
    assert check_counters(host, choice, multiplex=False) == []
    lines = configuration(host, choice).splitlines()
    assert lines[1] == "[skx perf]"
    assert "skx::FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE" in lines
    events = [line.split("::") for line in lines if "::" in line]
    assert len(events) == 5
    assert all(encode(pmu, name) for pmu, name in events)
    flops = role_expression(host, choice.roles[0])
    assert flops.count("(rate(") == 4
    assert "8 * (rate(perfevent_hwcounters_skx__FP_ARITH_INST_RETIRED_512B" in flops

    host, choice = chosen(machines, "zen", "FLOPs", "L1Stalls", "Nope")
    assert configuration(host, choice).splitlines()[1:] == [
        "[amd64_fam19h_zen4 perf]",
        "amd64_fam19h_zen4::RETIRED_SSE_AVX_FLOPS:"
        "ADD_SUB_FLOPS:MULT_FLOPS:DIV_FLOPS:MAC_FLOPS",
    ]
    assert "ask for MemoryStalls" in choice.refused["L1Stalls"]
    assert choice.refused["Nope"].startswith("unknown role Nope")

    with pytest.raises(PerfeventError, match="the graph knows no PMU of nowhere"):
        read_host(machines, "nowhere")
