"""State, SMT and clocks of CPUs, from trees that imitate /sys."""

from pathlib import Path

import pytest

from ingest.errors import MalformedSourceError, SourceMissingError
from ingest.sources.cpu_state import read_cpu_state
from tests.ingest.tree import copied, plant

CPUS = "sys/devices/system/cpu"
INTEL = {
    "possible": "0-7\n",
    "present": "0-7\n",
    "online": "0-5\n",
    "offline": "6-7\n",
    "isolated": "2-3\n",
    "nohz_full": "(null)\n",
    "smt/active": "1\n",
    "smt/control": "on\n",
    "intel_pstate/status": "active\n",
    "intel_pstate/no_turbo": "1\n",
    "cpu0/cpufreq/scaling_driver": "intel_pstate\n",
    "cpu0/cpufreq/scaling_governor": "powersave\n",
    "cpu1/cpufreq/scaling_governor": "performance\n",
    "cpu0/cpufreq/energy_performance_preference": "balance_performance\n",
}


def state(root: Path, files: dict[str, str]) -> dict[str, object]:
    plant(root, {f"{CPUS}/{name}": text for name, text in files.items()})
    return read_cpu_state(copied(root))


def test_intel_cpu_state_is_read(tmp_path: Path) -> None:
    assert state(tmp_path, INTEL) == {
        "lists": {
            "possible": list(range(8)),
            "present": list(range(8)),
            "online": list(range(6)),
            "offline": [6, 7],
            "isolated": [2, 3],
            "nohz_full": [],
        },
        "smt": {"active": True, "control": "on"},
        "scaling": {
            "driver": "intel_pstate",
            "governors": ["performance", "powersave"],
            "preference": "balance_performance",
            "status": "active",
            "boost": False,
        },
    }


def test_amd_cpu_state_is_read(tmp_path: Path) -> None:
    files = {
        "online": "0\n",
        "smt/active": "0\n",
        "smt/control": "forceoff\n",
        "cpufreq/boost": "1\n",
        "cpufreq/policy0/scaling_driver": "acpi-cpufreq\n",
    }
    found = state(tmp_path, files)
    assert found["smt"] == {"active": False, "control": "forceoff"}
    assert found["scaling"] == {
        "driver": "acpi-cpufreq",
        "governors": [],
        "preference": None,
        "status": None,
        "boost": True,
    }


def test_guest_without_cpu_state_is_read(tmp_path: Path) -> None:
    found = state(tmp_path, {"online": "0-1\n"})
    assert (found["smt"], found["scaling"]) == (None, None)


def test_unknown_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedSourceError, match="'vielleicht'"):
        state(tmp_path, {"smt/control": "vielleicht\n"})
    with pytest.raises(MalformedSourceError, match="not a list of CPUs"):
        state(tmp_path, {"smt/control": "on\n", "online": "0-x\n"})


def test_missing_sysfs_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="mount sysfs"):
        read_cpu_state(copied(tmp_path))


def test_cpu_state_of_this_machine_is_read() -> None:
    assert 0 in read_cpu_state()["lists"]["online"]
