"""Memory slots, from dmidecode's output of the firmware tables (SMBIOS type 17).

Its output is English in every locale. The SMBIOS specification (DMTF DSP0134), section
7.18, defines the fields.
"""

import re
from typing import Any

from ingest.errors import MalformedSourceError, SourceMissingError, SourceRefusedError
from ingest.gaps import report_gap
from ingest.sources.dmi import real
from ingest.sources.machine import HERE, Machine
from ontology.numbers import read_whole

_HANDLE = re.compile(
    r"^Handle (0x[0-9A-Fa-f]{1,8}), DMI type ([0-9]{1,3}),", re.MULTILINE
)
_MEMORY_DEVICE = "17"
_QUANTITY = re.compile(r"([0-9]{1,12}) ?([A-Za-z/]{1,5})")
# Versions before 3.x write kB for KiB and so on; all count in multiples of 1,024.
_BYTES = {"bytes": 1, "kB": 1 << 10, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_BYTES |= {"TB": 1 << 40, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_BYTES |= {"TiB": 1 << 40}
# Versions before 3.1 write MHz but mean transfers.
_TRANSFERS = {"MT/s": 10**6, "MHz": 10**6}
_NO_TABLES = (
    "dmidecode finds no SMBIOS tables, as in most virtual machines; nothing to "
    "fix there"
)
_EMPTY = {"no module installed", "not installed", "0", "0 mb", "0 gb", "0 kb"}
_MARKS = re.compile(r"^(no ?dimm|not ?installed|no ?module.*|unknown|[-_. ]*)$", re.I)


def read_memory_banks(machine: Machine = HERE) -> list[dict[str, Any]]:
    """Read every memory slot of the board; raises ProbeSourceError."""
    try:
        return parse_memory_banks(machine.tool("dmidecode"))
    except SourceRefusedError as error:
        # dmidecode searches /dev/mem if the kernel shows it no tables.
        if "/dev/mem: No such file" in error.printed:
            raise SourceMissingError(_NO_TABLES) from None
        raise


def parse_memory_banks(output: bytes) -> list[dict[str, Any]]:
    """Parse every memory slot from ``dmidecode -t 17``, in the order of the tables.

    ``size`` in bytes, None in an ``empty`` slot; ``speed`` and ``configured_speed`` in
    transfers per second; widths in bits. Raises MalformedSourceError, and
    SourceMissingError without tables.
    """
    text = output.decode(errors="replace")
    slots = [_slot(body) for kind, body in _structures(text) if kind == _MEMORY_DEVICE]
    if slots:
        return slots
    if "SMBIOS" in text and "present" in text:
        raise SourceMissingError(
            "the firmware's tables list no memory slot, as in some virtual machines; "
            "nothing to fix there"
        )
    if "dmidecode" in text:
        raise SourceMissingError(_NO_TABLES)
    raise MalformedSourceError(
        "dmidecode printed no tables: run `dmidecode -t 17` by hand"
    )


def _structures(text: str) -> list[tuple[str, str]]:
    """Type and body of each structure; each begins with a handle."""
    # re.split keeps the groups: handle, type, body, …
    _, *parts = _HANDLE.split(text)
    return list(zip(parts[1::3], parts[2::3], strict=True))


def _slot(body: str) -> dict[str, Any]:
    fields = _fields(body)
    size = _amount(fields.get("Size"), _BYTES)
    empty = fields.get("Size", "").lower() in _EMPTY
    facts: dict[str, Any] = {
        "slot": real(fields.get("Locator")),
        "bank": real(fields.get("Bank Locator")),
        "empty": empty,
        "size": None if empty else size,
        "form_factor": _known(fields.get("Form Factor")),
        "type": _known(fields.get("Type")),
    }
    # The other fields of an empty slot are meaningless.
    return facts | _module({} if empty else fields)


def _module(fields: dict[str, str]) -> dict[str, Any]:
    """The fields of a memory module."""
    configured = fields.get("Configured Memory Speed") or fields.get(
        "Configured Clock Speed"
    )
    return {
        "technology": _known(fields.get("Memory Technology")),
        "detail": _known(fields.get("Type Detail")),
        "speed": _amount(fields.get("Speed"), _TRANSFERS),
        "configured_speed": _amount(configured, _TRANSFERS),
        "vendor": _known(fields.get("Manufacturer")),
        "part": _known(fields.get("Part Number")),
        "serial": _known(fields.get("Serial Number")),
        "asset": _known(fields.get("Asset Tag")),
        "rank": _amount(f"{fields.get('Rank', '')} x", {"x": 1}),
        "total_width": _amount(fields.get("Total Width"), {"bits": 1}),
        "data_width": _amount(fields.get("Data Width"), {"bits": 1}),
    }


def _fields(body: str) -> dict[str, str]:
    pairs = (line.strip().partition(":") for line in body.splitlines())
    return {key: value.strip() for key, colon, value in pairs if colon}


def _known(text: str | None) -> str | None:
    found = real(text)
    return None if found is None or _MARKS.match(found) else found


def _amount(text: str | None, units: dict[str, int]) -> int | None:
    """``16 GB`` in its base unit; None without a number or with another unit."""
    found = _QUANTITY.fullmatch((text or "").strip())
    if found is None or found[2] not in units:
        if _known(text) and str(text).lower() not in _EMPTY:
            report_gap("a field of a memory slot", text, f"in {' or '.join(units)}")
        return None
    return read_whole(found[1]) * units[found[2]] or None
