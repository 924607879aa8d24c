"""Disks, from /sys/block."""

import re
from pathlib import Path
from typing import Any

from ingest.errors import SourceMissingError
from ingest.sources.files import parse_choice, read_number, read_value
from ingest.sources.machine import HERE, Machine

_BLOCK = Path("sys/block")
_NOT_DISKS = re.compile(r"(loop|ram|zram)[0-9]+")
# The kernel counts in 512-byte sectors, whatever the disk's own sector size.
_SECTOR = 512
_KIB = 1024
_PCI_ID = re.compile(r"0x[0-9a-f]+")


def read_disks(machine: Machine = HERE) -> list[dict[str, Any]]:
    """Read every disk with a medium, by name; ``size`` in bytes.

    Loop devices, RAM disks, drives without a medium and the hidden paths of a multipath
    disk are left out. Raises SourceMissingError.
    """
    folder = machine.root / _BLOCK
    if not folder.is_dir():
        raise SourceMissingError(f"{folder} does not exist: mount sysfs at /sys")
    return [disk for path in sorted(folder.iterdir()) if (disk := _disk(path))]


def _disk(path: Path) -> dict[str, Any] | None:
    size = (read_number(path / "size") or 0) * _SECTOR
    if not size or _NOT_DISKS.fullmatch(path.name) or read_number(path / "hidden"):
        return None
    device = path / "device"
    rotational = read_number(path / "queue/rotational")
    return {
        # The kernel writes the "/" of names such as cciss/c0d0 as "!".
        "name": path.name.replace("!", "/"),
        "size": size,
        "rotational": None if rotational is None else bool(rotational),
        "model": read_value(device / "model") or read_value(device / "name"),
        "serial": _serial(path),
        "vendor": _vendor(device),
        "firmware": read_value(device / "firmware_rev") or read_value(device / "rev"),
        "queue": _queue(path / "queue"),
    }


def _queue(folder: Path) -> dict[str, Any]:
    """Queue settings (the kernel's Documentation/block/queue-sysfs.rst)."""
    read_ahead = read_number(folder / "read_ahead_kb")
    discard = read_number(folder / "discard_granularity")
    return {
        "scheduler": parse_choice(read_value(folder / "scheduler")),
        "depth": read_number(folder / "nr_requests") or None,
        "logical_block": read_number(folder / "logical_block_size") or None,
        "physical_block": read_number(folder / "physical_block_size") or None,
        "read_ahead": None if read_ahead is None else read_ahead * _KIB,
        "write_cache": _write_cache(read_value(folder / "write_cache")),
        "discards": None if discard is None else discard > 0,
        "zoned": read_value(folder / "zoned"),
    }


def _write_cache(text: str | None) -> bool | None:
    return {"write back": True, "write through": False}.get(text or "")


def parse_unit_serial(page: bytes) -> str | None:
    """The serial number in SCSI's page 80: a 4-byte header with its length, text."""
    text = page[4 : 4 + int.from_bytes(page[2:4], "big")].decode(errors="replace")
    return text.strip("\0 ") or None


def _serial(path: Path) -> str | None:
    plain = read_value(path / "serial") or read_value(path / "device/serial")
    if plain:
        return plain
    try:
        return parse_unit_serial((path / "device/vpd_pg80").read_bytes())
    except OSError:
        return None


def _vendor(device: Path) -> str | None:
    vendor = read_value(device / "vendor")
    # libata writes ATA for every SATA disk.
    no_vendor = vendor == "ATA" or _PCI_ID.fullmatch(vendor or "")
    return None if no_vendor else vendor
