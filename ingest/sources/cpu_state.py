"""Which CPUs are online, and SMT and frequency settings, from /sys.

See the kernel's Documentation/ABI/testing/sysfs-devices-system-cpu.
"""

from pathlib import Path
from typing import Any

from ingest.errors import MalformedSourceError, SourceMissingError
from ingest.sources.files import parse_cpulist, read_number, read_value
from ingest.sources.machine import HERE, Machine

_CPUS = Path("sys/devices/system/cpu")
_LISTS = ("possible", "present", "online", "offline", "isolated", "nohz_full")
_CONTROLS = {"on", "off", "forceoff", "notsupported", "notimplemented"}


def read_cpu_state(machine: Machine = HERE) -> dict[str, Any]:
    """Read CPU lists by state, SMT and frequency scaling; raises ProbeSourceError."""
    folder = machine.root / _CPUS
    if not folder.is_dir():
        raise SourceMissingError(f"{folder} does not exist: mount sysfs at /sys")
    return {
        "lists": {name: _cpus(read_value(folder / name)) for name in _LISTS},
        "smt": _smt(folder / "smt"),
        "scaling": _scaling(folder),
    }


def _cpus(text: str | None) -> list[int]:
    # An empty list is an empty file; in nohz_full it is "(null)".
    return [] if text in (None, "(null)") else parse_cpulist(str(text))


def _smt(folder: Path) -> dict[str, Any] | None:
    control = read_value(folder / "control")
    active = read_number(folder / "active")
    if control is None and active is None:
        return None
    if control is not None and control not in _CONTROLS and not control.isdigit():
        raise MalformedSourceError(
            f"{folder / 'control'} has an unknown value, {control[:40]!r}: report this "
            "bug with the version of the kernel"
        )
    return {"active": bool(active) if active is not None else None, "control": control}


def _scaling(cpus: Path) -> dict[str, Any] | None:
    """The frequency driver, its settings, and whether boost is enabled."""
    policies = sorted(cpus.glob("cpu[0-9]*/cpufreq"))
    policies += sorted((cpus / "cpufreq").glob("policy[0-9]*"))
    facts = {
        "driver": _first(policies, "scaling_driver"),
        "governors": sorted(
            {text for path in policies if (text := _one(path, "scaling_governor"))}
        ),
        "preference": _first(policies, "energy_performance_preference"),
        "status": read_value(cpus / "intel_pstate/status")
        or read_value(cpus / "amd_pstate/status"),
        "boost": _boost(cpus),
    }
    return facts if any(facts.values()) or facts["boost"] is not None else None


def _boost(cpus: Path) -> bool | None:
    """acpi-cpufreq and amd-pstate have boost, intel_pstate has no_turbo."""
    boost = read_number(cpus / "cpufreq/boost")
    no_turbo = read_number(cpus / "intel_pstate/no_turbo")
    if boost is None and no_turbo is not None:
        return not no_turbo
    return None if boost is None else bool(boost)


def _one(policy: Path, name: str) -> str | None:
    return read_value(policy / name)


def _first(policies: list[Path], name: str) -> str | None:
    return next((text for path in policies if (text := _one(path, name))), None)
