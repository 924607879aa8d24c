"""The PMU models of libpfm4 that a processor has, also for a remote processor.

The table is `pmu_models.yaml`, since libpfm4 itself only knows the machine it runs on.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from ingest.schema.schema import CpuModel, Facts

_FILE = Path(__file__).with_suffix(".yaml")
_VENDORS = {"GenuineIntel": "intel", "AuthenticAMD": "amd", "ARM": "arm"}
_RANGE = re.compile(r"(\d+)-(\d+)")


@dataclass(frozen=True)
class Processor:
    """The data that identify a processor model; `stepping` may be unknown.

    On Arm, `family` is the implementer and `model` the part number.
    """

    vendor: str
    family: int
    model: int
    stepping: int | None = None


@dataclass(frozen=True)
class _ModelRow:
    """A row of the table; None fits every model or stepping."""

    family: int
    pmus: tuple[str, ...]
    models: list[int | str] | None = None
    steppings: list[int | str] | None = None

    def fits(self, processor: Processor) -> bool:
        return (
            self.family == processor.family
            and _among(self.models, processor.model)
            and _among(self.steppings, processor.stepping)
        )


def pmus_of(processor: Processor) -> list[str]:
    """The PMUs of a processor, its core's first; none if the processor is unknown.

    Includes all uncore boxes that its model may have.
    """
    table = _table().get(_VENDORS.get(processor.vendor, ""), [])
    for row in table:
        if row.fits(processor):
            return list(row.pmus)
    return []


def all_pmus() -> set[str]:
    """Every PMU of the table."""
    return {pmu for rows in _table().values() for row in rows for pmu in row.pmus}


def processors(facts: "Facts") -> list[Processor]:
    """The distinct processors in a probe's facts, in order."""
    described = [
        *(_of_hwloc(socket.info) for socket in facts.hwloc.sockets),
        *(_of_cpu(cpu) for cpu in facts.cpu.sockets.values()),
    ]
    found = [processor for processor in described if processor]
    # The kernel knows the stepping; older hwloc files do not.
    whole = [p for p in found if p.stepping is not None] or found
    return list(dict.fromkeys(whole))


def expanded(name: str) -> Iterator[str]:
    """Expand ``imc[0-2]`` to ``imc0``, ``imc1`` and ``imc2``."""
    found = re.search(r"\[(\d+)-(\d+)\]$", name)
    if not found:
        yield name
        return
    for number in range(int(found[1]), int(found[2]) + 1):
        yield f"{name[: found.start()]}{number}"


def _of_hwloc(info: dict[str, str]) -> Processor | None:
    if "CPUImplementer" in info:
        numbers = _numbers(info.get("CPUImplementer"), info.get("CPUPart"))
        return Processor("ARM", *numbers) if numbers else None
    numbers = _numbers(info.get("CPUFamilyNumber"), info.get("CPUModelNumber"))
    stepping = _numbers(info.get("CPUStepping"))
    return _processor(info.get("CPUVendor"), numbers, stepping)


def _of_cpu(cpu: "CpuModel") -> Processor | None:
    # Arm: the family is the version of the instruction set, so it is not used.
    if cpu.vendor and cpu.vendor.startswith("0x"):
        part = _numbers(cpu.vendor, cpu.model)
        return Processor("ARM", *part) if part else None
    numbers = _numbers(cpu.family, cpu.model)
    return _processor(cpu.vendor, numbers, _numbers(cpu.stepping))


def _processor(
    vendor: str | None, numbers: list[int] | None, stepping: list[int] | None
) -> Processor | None:
    if not vendor or not numbers:
        return None
    family, model = numbers
    return Processor(vendor, family, model, stepping[0] if stepping else None)


def _numbers(*texts: str | None) -> list[int] | None:
    """Parse numbers as hwloc and the kernel write them; None if one is missing."""
    try:
        return [int(text or "", 0) for text in texts]
    except ValueError:
        return None


def _among(ranges: list[int | str] | None, number: int | None) -> bool:
    if ranges is None:
        return True
    return number is not None and any(
        int(found[1]) <= number <= int(found[2])
        if (found := _RANGE.fullmatch(str(entry)))
        else number == entry
        for entry in ranges
    )


@cache
def _table() -> dict[str, list[_ModelRow]]:
    table = yaml.safe_load(_FILE.read_text("utf-8"))
    return {vendor: [_row(**row) for row in rows] for vendor, rows in table.items()}


def _row(pmus: list[str], **conditions: Any) -> _ModelRow:
    every = tuple(pmu for name in pmus for pmu in expanded(name))
    return _ModelRow(pmus=every, **conditions)
