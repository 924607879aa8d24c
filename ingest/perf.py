"""The PMUs that the kernel offers to perf_event, as /sys lists them."""

from pathlib import Path

from ingest.errors import SourceMissingError
from ingest.machine import HERE, Machine

_DEVICES = Path("sys/bus/event_source/devices")
# cpu_core and cpu_atom on hybrid machines, armv8_pmuv3_0 and the like on ARM.
_CORE = ("cpu", "armv")
_UNCORE = ("uncore_", "amd_", "power", "arm_")


def read_event_sources(machine: Machine = HERE) -> list[str]:
    """The names of the kernel's event sources, such as ``cpu`` and ``software``.

    Raises SourceMissingError where the kernel has no perf_event.
    """
    folder = machine.root / _DEVICES
    if not folder.is_dir():
        raise SourceMissingError(
            f"{folder} does not exist: this kernel was built without perf_event"
        )
    return sorted(path.name for path in folder.iterdir())


def is_usable(kind: str, event_sources: list[str] | None) -> bool | None:
    """Whether the kernel counts for PMUs of a kind; None where it cannot be told.

    libpfm4 goes by the processor's model alone, which in a virtual machine says
    nothing about counters.
    """
    if event_sources is None or kind not in ("core", "uncore", "os"):
        return None
    prefixes = {"core": _CORE, "uncore": _UNCORE, "os": ("software",)}[kind]
    return any(name.startswith(prefixes) for name in event_sources)
