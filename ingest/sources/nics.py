"""Network interfaces, from /sys/class/net and the kernel's table of addresses."""

import json
from pathlib import Path
from typing import Any

from ingest.errors import ProbeSourceError, SourceMissingError
from ingest.sources.addresses import read_addresses
from ingest.sources.files import read_number, read_value
from ingest.sources.machine import HERE, Machine

_NET = Path("sys/class/net")
_MEGABIT = 1_000_000


def read_nics(machine: Machine = HERE) -> list[dict[str, Any]]:
    """Read every interface by name, also virtual ones; ``speed`` in bit/s.

    Raises SourceMissingError.
    """
    folder = machine.root / _NET
    if not folder.is_dir():
        raise SourceMissingError(f"{folder} does not exist: mount sysfs at /sys")
    addresses, firmware = _told(machine, "addresses"), _told(machine, "firmware")
    # Not all entries are interfaces: "bonding_masters" is a file.
    return [
        {
            **_nic(path, addresses.get(path.name)),
            "firmware": firmware.get(path.name),
            **read_addresses(machine, path),
        }
        for path in sorted(folder.iterdir())
        if path.is_dir()
    ]


def _nic(path: Path, address: str | None) -> dict[str, Any]:
    speed = read_number(path / "speed") or 0
    device = path / "device"
    driver = device / "driver"
    return {
        "name": path.name,
        "mac": _mac(path),
        # -1 if a driver does not know it.
        "speed": speed * _MEGABIT if speed > 0 else None,
        "duplex": _duplex(path),
        "mtu": read_number(path / "mtu") or None,
        "up": _is_up(path),
        "virtual": "/devices/virtual/" in f"{path.resolve()}/",
        "driver": driver.resolve().name if driver.exists() else None,
        "ipv4": address,
        "businfo": _businfo(device),
    }


def _told(machine: Machine, what: str) -> dict[str, str]:
    """The IPv4 address, or firmware version, of each interface that has one."""
    try:
        found = json.loads(machine.tool(what))
    except (ProbeSourceError, ValueError):
        return {}
    return {str(k): str(v) for k, v in found.items()} if type(found) is dict else {}


def _mac(path: Path) -> str | None:
    mac = read_value(path / "address")
    # The loopback interface has all zeros.
    return mac if mac and mac.strip("0:") else None


def _duplex(path: Path) -> str | None:
    duplex = read_value(path / "duplex")
    return duplex if duplex in ("half", "full") else None


def _is_up(path: Path) -> bool:
    state = read_value(path / "operstate")
    # The loopback and some drivers have no operational state, but a carrier.
    return state == "up" or (state == "unknown" and read_number(path / "carrier") == 1)


def _businfo(device: Path) -> str | None:
    """lshw's notation: ``pci@0000:00:03.0``, ``virtio@2``."""
    bus = device / "subsystem"
    if not bus.exists():
        return None
    name = bus.resolve().name
    return f"{name}@{device.resolve().name.removeprefix(name)}"
