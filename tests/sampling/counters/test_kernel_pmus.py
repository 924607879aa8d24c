"""Events of the kernel's own PMUs: from the graph to the agent, and real counts."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.stores.endpoint import Endpoint
from ingest.pmu.store import publish_roles
from sampling.agents import private_pmcd
from sampling.agents.configuration import keep_configuration
from sampling.agents.perfevent import NEW_EVENT
from sampling.counters.perfevent import CountingSetup, prepare
from sampling.errors import PerfeventError
from sampling.events.choice import choose
from sampling.events.expression import dutycycle_expression, role_expression
from sampling.events.host import read_role
from tests.counting_hosts import IRIS, publish_host
from tests.ports import free_port
from tests.servers import ENDS_WITH_US, Fuseki, wait_until

FORMATS = {
    "amd_df": {"event": "config:0-7,32-35,59-60", "umask": "config:8-15"},
    "amd_l3": {"event": "config:0-7", "umask": "config:8-15"},
    "amd_umc": {"event": "config:0-7", "rdwrmask": "config:8-9"},
    "cpu": {"event": "config:0-7", "umask": "config:8-15"},
}
# A machine of two sockets: Linux has a device for each channel of each socket.
UMC = {f"amd_umc_{channel}": "0" if channel < 2 else "96" for channel in range(4)}
IMC = ["cas_count_read", "cas_count_write"]


@pytest.fixture(scope="module")
def twin(emptied_fuseki: Fuseki) -> Iterator[Endpoint]:
    """A store with the roles and hosts with the devices of their kernels."""
    with Endpoint(f"{emptied_fuseki.url}/twin") as endpoint:
        publish_roles(endpoint, IRIS)
        publish(endpoint, "zen2", {"cpu": [], "amd_df": [], "amd_l3": []})
        publish(endpoint, "zen4", {"cpu": [], **{name: [] for name in UMC}})
        publish(endpoint, "ice", {"cpu": [], "uncore_imc_0": IMC, "uncore_imc_1": IMC})
        publish(endpoint, "rapids", {"cpu": ["instructions"], "software": []})
        publish(endpoint, "hybrid", {"cpu_core": [], "cpu_atom": []})
        publish(endpoint, "zen3", {"cpu": [], "software": []})
        yield endpoint


def publish(twin: Endpoint, host: str, events: dict[str, list[str]]) -> None:
    formats = {
        name: FORMATS[kind]
        for name in events
        for kind in [re.sub(r"_\d+$|_core$", "", name)]
        if kind in FORMATS
    }
    masks = {name: UMC.get(name, "0") for name in events if "cpu" not in name}
    publish_host(twin, host, events, formats=formats, cpumasks=masks)


def setup(twin: Endpoint, host: str, *roles: str) -> CountingSetup:
    return prepare(twin, host, roles, (), multiplex=True).checked()


def lines(prepared: CountingSetup, start: str) -> list[str]:
    return [line for line in prepared.text.splitlines() if line.startswith(start)]


def test_data_fabric_of_a_zen_2(twin: Endpoint) -> None:
    prepared = setup(twin, "zen2", "DramTraffic", "L3Misses")
    assert lines(prepared, "# event amd_df dram_channel_data_controller_7") == [
        "# event amd_df dram_channel_data_controller_7 config=0x1000038c7"
    ]
    assert lines(prepared, "# event amd_l3") == [
        "# event amd_l3 l3_lookup_state.l3_miss config=0x104"
    ]
    # The kernel's cpumask chooses the CPUs, not the NUMA domains.
    assert lines(prepared, "amd_l3.") == ["amd_l3.l3_lookup_state.l3_miss"]
    (remark,) = prepared.remarks
    assert "amd_df of zen2 has 4 general counters, but 8 are needed" in remark
    with pytest.raises(PerfeventError, match="allow multiplexing"):
        prepare(twin, "zen2", ["DramTraffic"], ())


def test_channels_of_two_sockets_have_one_value(twin: Endpoint) -> None:
    prepared = setup(twin, "zen4", "DramReads")
    assert lines(prepared, "# event") == [
        f"# event {name} umc_cas_cmd.rd config=0x10a" for name in sorted(UMC)
    ]
    (formula,) = prepared.choice.roles
    assert formula.apart
    text = role_expression(prepared.host, formula)
    assert text.count("by (hostname)") == 4
    assert "instname" not in text
    assert "instname=~" not in dutycycle_expression(prepared.host, formula)


def test_channels_of_an_ice_lake_are_named_by_its_kernel(twin: Endpoint) -> None:
    prepared = setup(twin, "ice", "DramTraffic")
    assert not lines(prepared, "# event")
    assert lines(prepared, "uncore_imc") == [
        f"uncore_imc_{channel}.cas_count_{way}"
        for channel in (0, 1)
        for way in ("read", "write")
    ]
    (formula,) = prepared.choice.roles
    assert not formula.apart


def test_back_end_of_a_sapphire_rapids_has_the_kernels_code(twin: Endpoint) -> None:
    prepared = setup(twin, "rapids", "SlotsBackEndBound", "SlotsMemoryBound")
    assert lines(prepared, "# event") == [
        "# event cpu topdown.backend_bound_slots config=0x2a4",
        "# event cpu topdown.memory_bound_slots config=0x10a4",
    ]
    # The kernel's name of an event remains one.
    named = prepare(twin, "rapids", (), ["cpu::instructions"]).checked()
    assert lines(named, "cpu.") == ["cpu.instructions"]


def test_both_kinds_of_cores_are_counted(twin: Endpoint) -> None:
    prepared = setup(twin, "hybrid", "SlotsBackEndBound")
    assert [str(event) for event in prepared.events] == [
        "adl_grt::TOPDOWN_BE_BOUND:ALL",
        "cpu_core::topdown.backend_bound_slots",
    ]
    with pytest.raises(PerfeventError, match="Gracemont has no event for floating"):
        setup(twin, "hybrid", "FLOPs")


def test_kernel_without_the_event_is_named(twin: Endpoint) -> None:
    prepared = setup(twin, "ice", "DramReads")
    host = replace(prepared.host, devices={"uncore_imc_0": ["clockticks"]})
    choice = choose(host, {"DramReads": read_role(twin, "ice", "DramReads")}, (), _none)
    assert "has no event cas_count_read of uncore_imc_" in choice.refused["DramReads"]


def _none(pmu: str, event: str) -> list[str]:
    return []


def test_kernel_without_the_device_is_named(twin: Endpoint) -> None:
    with pytest.raises(PerfeventError, match="DramLines on zen3: this host has no"):
        setup(twin, "zen3", "DramLines")


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Path]:
    """An agent that counts an event of msr that the kernel does not name."""
    home = tmp_path / "p"
    home.mkdir()
    added = f"{NEW_EVENT}msr again.tsc config=0x0"
    text = f"{added}\n[perf]\n\n[dynamic]\nmsr.tsc\nmsr.again.tsc\n"
    keep_configuration(home, "perfevent", text)
    command = private_pmcd.command(home, "/usr/lib/pcp/bin/pmcd", free_port())
    process = subprocess.Popen(
        [*ENDS_WITH_US, *command],
        cwd=home / "log",
        env={**os.environ, **private_pmcd.environment(home)},
    )
    yield private_pmcd.socket_of(home)
    process.terminate()
    process.wait()


def count(socket: Path, metric: str) -> float:
    done = subprocess.run(
        ["pminfo", "-h", f"unix://{socket}", "-f", metric],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r'"cpu0"\] value (\d+)', done.stdout)
    return float(found[1]) if found else 0.0


def test_agent_counts_an_event_that_the_kernel_does_not_name(agent: Path) -> None:
    name = "perfevent.hwcounters.msr{}.tsc.value"
    wait_until(lambda: count(agent, name.format("")) > 0, what="a count")
    first = count(agent, name.format(""))
    added = count(agent, name.format(".again"))
    last = count(agent, name.format(""))
    # Configured a moment later than the kernel's own event, it counts the same.
    assert 0 < first / 2 < added <= last


def test_device_that_the_kernel_lacks_is_refused(tmp_path: Path) -> None:
    text = f"{NEW_EVENT}amd_odd x config=0x0\n[perf]\n"
    with pytest.raises(private_pmcd.AgentError, match="has no device .*amd_odd"):
        keep_configuration(tmp_path, "perfevent", text)
