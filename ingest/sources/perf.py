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
    """The kernel's named events, and the restrictions on counting.

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
    }


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
