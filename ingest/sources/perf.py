"""The kernel's PMUs for perf_event, and its named events."""

from pathlib import Path
from typing import Any

from ingest.errors import SourceMissingError
from ingest.sources.machine import HERE, Machine

_DEVICES = Path("sys/bus/event_source/devices")
_PARANOID = Path("proc/sys/kernel/perf_event_paranoid")
_WATCHDOG = Path("proc/sys/kernel/nmi_watchdog")


def read_event_sources(machine: Machine = HERE) -> list[str]:
    """The kernel's event sources, such as ``cpu`` and ``software``.

    Raises SourceMissingError if the kernel has no perf_event.
    """
    folder = machine.root / _DEVICES
    if not folder.is_dir():
        raise SourceMissingError(
            f"{folder} does not exist: this kernel was built without perf_event; use "
            "one with CONFIG_PERF_EVENTS"
        )
    return sorted(path.name for path in folder.iterdir())


def read_kernel_events(machine: Machine = HERE) -> dict[str, list[str]]:
    """The kernel's named events by event source: ``tsc`` of ``msr``.

    Files with a suffix hold an event's unit and scale and are skipped. Raises
    SourceMissingError.
    """
    folder = machine.root / _DEVICES
    return {
        name: sorted(
            path.name for path in (folder / name).glob("events/*") if not path.suffix
        )
        for name in read_event_sources(machine)
    }


def read_perf(machine: Machine = HERE) -> dict[str, Any]:
    """The kernel's named events, its devices, and the restrictions on counting.

    ``formats`` are the bits of each term of a device's events, ``cpumasks`` the CPUs on
    which a device that counts for more than one CPU is opened.

    ``paranoid`` is None if it cannot be read. Raises SourceMissingError.
    """
    events = read_kernel_events(machine)
    try:
        paranoid: int | None = read_paranoid(machine)
    except SourceMissingError:
        paranoid = None
    return {
        "events": events,
        "paranoid": paranoid,
        "watchdog": read_watchdog(machine),
        "formats": read_formats(machine),
        "cpumasks": read_cpumasks(machine),
    }


def read_formats(machine: Machine = HERE) -> dict[str, dict[str, str]]:
    """The format files of each device: ``config:0-7`` of ``event`` of ``cpu``.

    Raises SourceMissingError.
    """
    folder = machine.root / _DEVICES
    found = {
        name: {
            path.name: text
            for path in sorted((folder / name).glob("format/*"))
            if (text := _line(path))
        }
        for name in read_event_sources(machine)
    }
    return {name: terms for name, terms in found.items() if terms}


def read_cpumasks(machine: Machine = HERE) -> dict[str, str]:
    """The ``cpumask`` of each device that has one: ``0,16``.

    Raises SourceMissingError.
    """
    folder = machine.root / _DEVICES
    masks = {
        name: _line(folder / name / "cpumask") for name in read_event_sources(machine)
    }
    return {name: mask for name, mask in masks.items() if mask}


def _line(path: Path) -> str:
    """The text of a file of one line; empty if it cannot be read."""
    try:
        return path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def read_paranoid(machine: Machine = HERE) -> int:
    """The level of kernel.perf_event_paranoid; above 0 only root counts whole CPUs.

    Raises SourceMissingError if the kernel has no perf_event.
    """
    try:
        return int((machine.root / _PARANOID).read_text("ascii"))
    except (OSError, ValueError):
        raise SourceMissingError(
            f"{machine.root / _PARANOID} cannot be read: this kernel was built "
            "without perf_event; use one with CONFIG_PERF_EVENTS"
        ) from None


def read_watchdog(machine: Machine = HERE) -> bool:
    """Whether the NMI watchdog occupies a counter of each thread."""
    try:
        return (machine.root / _WATCHDOG).read_text("ascii").strip() == "1"
    except OSError:
        return False
