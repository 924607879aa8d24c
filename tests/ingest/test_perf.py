from pathlib import Path

import pytest

from ingest.errors import SourceMissingError
from ingest.remote.collect import FILES
from ingest.sources.machine import Machine
from ingest.sources.perf import (
    read_cpumasks,
    read_event_sources,
    read_formats,
    read_kernel_events,
    read_paranoid,
    read_perf,
    read_watchdog,
)
from tests.ingest.tree import copied, plant


def test_this_machine_counts_software_events() -> None:
    assert "software" in read_event_sources()


def test_kernel_without_perf_event_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="without perf_event"):
        read_event_sources(copied(tmp_path))


def test_kernel_events_are_listed(tmp_path: Path) -> None:
    folder = "sys/bus/event_source/devices"
    names = ("msr/events/tsc", "power/events/energy-pkg", "software/type")
    files = {f"{folder}/{name}": "event=0x00\n" for name in names}
    for end in ("scale", "unit"):
        files[f"{folder}/power/events/energy-pkg.{end}"] = "Joules\n"
    assert read_kernel_events(Machine(plant(tmp_path, files))) == {
        "msr": ["tsc"],
        "power": ["energy-pkg"],
        "software": [],
    }


def test_formats_and_cpus_of_devices_are_read(tmp_path: Path) -> None:
    device = "sys/bus/event_source/devices/amd_umc_0"
    files = {
        f"{device}/format/event": "config:0-7\n",
        f"{device}/format/rdwrmask": "config:8-9\n",
        f"{device}/cpumask": "0\n",
        "sys/bus/event_source/devices/software/type": "1\n",
    }
    machine = Machine(plant(tmp_path, files))
    formats = {"amd_umc_0": {"event": "config:0-7", "rdwrmask": "config:8-9"}}
    assert read_formats(machine) == formats
    assert read_cpumasks(machine) == {"amd_umc_0": "0"}


def test_perf_event_paranoid_is_read(tmp_path: Path) -> None:
    assert read_paranoid() >= -1
    with pytest.raises(SourceMissingError, match="without perf_event"):
        read_paranoid(Machine(tmp_path))


def test_nmi_watchdog_is_read(tmp_path: Path) -> None:
    path = "proc/sys/kernel/nmi_watchdog"
    for text, held in (("0\n", False), ("1\n", True)):
        assert read_watchdog(Machine(plant(tmp_path, {path: text}))) is held
    assert not read_watchdog(Machine(tmp_path / "none"))


def test_all_perf_facts_are_read(tmp_path: Path) -> None:
    files = {"sys/bus/event_source/devices/msr/events/tsc": "event=0x00\n"}
    kernel = {"proc/sys/kernel/nmi_watchdog": "1\n"}
    machine = Machine(plant(tmp_path, files | kernel))
    events = {"msr": ["tsc"]}
    assert read_perf(machine) == {
        "events": events,
        "paranoid": None,
        "watchdog": True,
        "formats": {},
        "cpumasks": {},
    }
    plant(tmp_path, {"proc/sys/kernel/perf_event_paranoid": "-1\n"})
    assert read_perf(machine)["paranoid"] == -1


def test_copy_includes_the_perf_files() -> None:
    """The collector's copy of a remote machine includes it."""
    wanted = ("/sys/bus/event_source/devices/*/events/*",)
    wanted += ("/proc/sys/kernel/perf_event_paranoid", "/proc/sys/kernel/nmi_watchdog")
    assert {*wanted} <= {*FILES}
