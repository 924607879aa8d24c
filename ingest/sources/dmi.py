"""Board, system and firmware, from the kernel's view of the DMI tables."""

import re
from collections.abc import Callable
from pathlib import Path

from ingest.errors import SourceMissingError
from ingest.sources.files import read_value
from ingest.sources.machine import HERE, Machine

_FOLDER = Path("sys/class/dmi/id")
_FIELDS = {
    "board": {
        "vendor": "board_vendor",
        "model": "board_name",
        "serial": "board_serial",
    },
    "system": {
        "vendor": "sys_vendor",
        "model": "product_name",
        "serial": "product_serial",
        "uuid": "product_uuid",
    },
    "bios": {"vendor": "bios_vendor", "version": "bios_version", "date": "bios_date"},
}
# Values that vendors leave in unfilled fields.
_PLACEHOLDERS = {
    "asset-1234567890",
    "base board",
    "base board serial number",
    "chassis serial number",
    "default",
    "default string",
    "empty",
    "filled by oem",
    "invalid",
    "n/a",
    "na",
    "none",
    "not applicable",
    "not available",
    "not specified",
    "not present",
    "null",
    "o.e.m.",
    "oem",
    "other",
    "system manufacturer",
    "system product name",
    "system serial number",
    "tbd",
    "to be filled by o.e.m",
    "to be filled by oem",
    "type1productconfigid",
    "undefined",
    "unknown",
    "unspecified",
    "0123456789",
    "123456789",
    "1234567890",
    "03000200-0400-0500-0006-000700080009",
}


def read_board(machine: Machine = HERE) -> dict[str, dict[str, str]]:
    """Read board, system and BIOS as far as known; raises SourceMissingError.

    Only root can read serial numbers and the UUID; otherwise they are left out.
    """
    folder = machine.root / _FOLDER
    if not folder.is_dir():
        raise SourceMissingError(
            f"{folder} does not exist: this kernel shows no DMI tables, as in most "
            "virtual machines and on Arm boards with a device tree; nothing to fix "
            "there"
        )
    return parse_board(lambda name: read_value(folder / name))


def parse_board(value: Callable[[str], str | None]) -> dict[str, dict[str, str]]:
    """Board, system and BIOS; ``value`` returns the text of a kernel DMI file."""
    return {
        part: {
            fact: text for fact, name in fields.items() if (text := real(value(name)))
        }
        for part, fields in _FIELDS.items()
    }


def real(text: str | None) -> str | None:
    """Return a firmware text, or None if it is a placeholder.

    A text of one repeated character, such as the UUID of all zeros, is a placeholder.
    """
    text = " ".join((text or "").split())
    plain = text.lower().strip(" .")
    if plain in _PLACEHOLDERS:
        return None
    same = len(set(re.sub(r"[\W_]", "", plain))) < 2
    return None if same and len(plain) != 1 else text or None
