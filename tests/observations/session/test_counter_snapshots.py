"""Counters are read from the bridge's PMCD, even if the bridge is still connecting."""

import json
import mmap
import os
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from threading import Timer

import pytest

from core.settings import tools
from observations.session import counter_snapshots
from observations.session.counter_snapshots import (
    CounterReader,
    CounterSnapshot,
    RunSnapshots,
    read_snapshot,
)
from sampling.agents import private_pmcd
from sampling.agents.configuration import keep_configuration
from sampling.counters import local
from sampling.counters.perfevent import CountingSetup
from sampling.errors import PerfeventError
from sampling.events.choice import EventSelection, SelectedEvent
from sampling.events.conf import configuration
from sampling.events.event import PmuEvent
from sampling.events.host import HostPmus
from sampling.events.live import absent_metrics
from tests.ports import free_port
from tests.servers import Pmcd, Server

EVENT = PmuEvent("software", "page-faults", kernel=True)
CHOICE = EventSelection("node9", (SelectedEvent(EVENT, "device"),))
PMUS = HostPmus("node9", {})
FAULTS, DUTY = EVENT.value, EVENT.dutycycle
PAGES = 2000

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root counts whole CPUs")


class Counting(Server):
    """A PMCD that counts page faults."""

    def start(self) -> None:
        text = configuration(PMUS, CHOICE)
        keep_configuration(self.folder, "perfevent", text)
        command = private_pmcd.command(self.folder, tools.pmcd(), free_port())
        place = self.folder / "log"
        self.launch([*command], place, **private_pmcd.environment(self.folder))
        self.address = f"unix://{private_pmcd.socket_of(self.folder)}"
        self.ready(self.counts)

    def counts(self) -> bool:
        with suppress(PerfeventError):
            return not absent_metrics(self.address, [FAULTS])
        return False


def reader(
    bridge: Path, metrics: list[str], counters: str = ""
) -> closing[CounterReader]:
    return closing(CounterReader(bridge, "node9", metrics, counters))


def says(bridge: Path, counters: str) -> None:
    hosts = {"node9": {"pcp": "", "counters": counters}}
    part = bridge / "status.part"
    part.write_text(json.dumps({"hosts": hosts}))
    part.replace(bridge / "status.json")


def test_earlier_status_of_the_bridge_is_ignored(
    tmp_path: Path,
) -> None:
    """Right after a plan ends, the bridge still names a PMCD without events."""
    with Pmcd(tmp_path / "other") as other, Counting(tmp_path / "own") as counting:
        says(tmp_path, other.address)
        Timer(0.5, says, (tmp_path, counting.address)).start()
        with reader(tmp_path, [FAULTS]) as counters:
            found = counters.snapshot().values
    assert found and {name for name, _ in found} == {FAULTS}


def test_unreachable_events_do_not_block_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter_snapshots, "_PATIENCE_SECONDS", 0.3)
    with Pmcd(tmp_path / "other") as other:
        for address in (other.address, "", f"unix://{tmp_path}/nobody"):
            says(tmp_path, address)
            with reader(tmp_path, [FAULTS]) as counters:
                assert not counters.snapshot().values


def touch_pages() -> None:
    memory = mmap.mmap(-1, PAGES * mmap.PAGESIZE)
    memory[:: mmap.PAGESIZE] = bytes(PAGES)


def test_counting_starts_when_all_events_have_values(tmp_path: Path) -> None:
    """For a tenth of a second, PCP's agent gives zeros, also for its duty cycles."""
    with Counting(tmp_path / "own") as counting:
        for number in range(3):
            text = f"{configuration(PMUS, CHOICE)}# {number}\n"
            local.count(
                counting.folder, CountingSetup(PMUS, CHOICE, text), counting.pid
            )
            with reader(tmp_path, [FAULTS, DUTY], counting.address) as counters:
                before = counters.snapshot().values
                touch_pages()
                after = counters.snapshot().values
            assert {x for (name, _), x in after.items() if name == DUTY} == {1.0}
            grown = [after[key] - before[key] for key in after if key[0] == FAULTS]
            assert sum(grown) >= PAGES


def test_snapshot_lists_counters_that_restarted_since_the_last_one(
    tmp_path: Path,
) -> None:
    with Counting(tmp_path / "own") as counting:
        address = counting.address
        with reader(tmp_path, [FAULTS, DUTY], address) as counters:
            assert not counters.snapshot().restarted
            assert not counters.snapshot().restarted
            text = f"{configuration(PMUS, CHOICE)}# other\n"
            local.count(
                counting.folder, CountingSetup(PMUS, CHOICE, text), counting.pid
            )
            assert counters.snapshot().restarted == {FAULTS, DUTY}
            assert not counters.snapshot().restarted


def stored_snapshot(folder: Path, counting: Counting) -> CounterSnapshot:
    """A snapshot as a restarted API reads it from the file that its runs keep."""
    with reader(folder, [FAULTS, DUTY], counting.address) as counters:
        (folder / "snapshot.json").write_text(counters.snapshot().text)
    found = read_snapshot(folder / "snapshot.json")
    assert found
    assert {name for name, _ in found.values} == {FAULTS, DUTY}, "and nothing of PMCD's"
    return found


def test_snapshots_of_two_apis_show_whether_counters_restarted(tmp_path: Path) -> None:
    with Counting(tmp_path / "own") as counting:
        before, after = (
            stored_snapshot(tmp_path, counting),
            stored_snapshot(tmp_path, counting),
        )
        assert before.reader != after.reader
        assert RunSnapshots(before, after).doubt_about(FAULTS) == ""
        text = f"{configuration(PMUS, CHOICE)}# other\n"
        local.count(counting.folder, CountingSetup(PMUS, CHOICE, text), counting.pid)
        again = stored_snapshot(tmp_path, counting)
        assert not again.restarted, "it has seen nothing of it"
        assert "were counted again" in RunSnapshots(after, again).doubt_about(FAULTS)
        assert RunSnapshots(after, again).doubt_about("kernel.all.pswitch") == ""
    with Counting(tmp_path / "other") as counting:
        other = stored_snapshot(tmp_path, counting)
    assert "were counted again" in RunSnapshots(before, other).doubt_about(DUTY), (
        "another PMCD"
    )


def test_snapshots_of_two_apis_without_agents_are_doubtful() -> None:
    before = CounterSnapshot(1.0, {(FAULTS, "cpu0"): 1.0}, reader="one")
    after = replace(before, at_ms=2.0)
    assert RunSnapshots(before, after).doubt_about(FAULTS) == ""
    for known in "", "7 3":  # or only one of them knows its agents
        other = replace(after, reader="two", agents=known)
        assert "API was restarted" in RunSnapshots(before, other).doubt_about(FAULTS)
        assert RunSnapshots(before, other).doubt_about("kernel.all.pswitch") == ""
    assert (
        RunSnapshots(before, CounterSnapshot(reader="two")).doubt_about(FAULTS) == ""
    ), "it has no values"
