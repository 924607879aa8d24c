"""The PMUs that the kernel offers to perf_event, as /sys lists them."""

from pathlib import Path

from ingest.errors import SourceMissingError
from ingest.sources.machine import HERE, Machine

_DEVICES = Path("sys/bus/event_source/devices")


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
