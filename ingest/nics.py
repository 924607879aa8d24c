"""Network interfaces, from /sys/class/net and the kernel's table of addresses."""

import fcntl
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ingest.errors import SourceMissingError
from ingest.files import read_number, read_value

_NET = Path("sys/class/net")
_MEGABIT = 1_000_000
_SIOCGIFADDR = 0x8915
_NAME_SIZE = 16


def ipv4_address(name: str) -> str | None:
    """The first IPv4 address of an interface of this machine; None without one."""
    request = struct.pack("256s", name.encode()[: _NAME_SIZE - 1])
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
    except OSError:
        return None
    return socket.inet_ntoa(answer[20:24])


def read_nics(
    root: Path = Path("/"), address: Callable[[str], str | None] = ipv4_address
) -> list[dict[str, Any]]:
    """Every interface by name, virtual ones included; ``speed`` in bit/s.

    Raises SourceMissingError.
    """
    folder = root / _NET
    if not folder.is_dir():
        raise SourceMissingError(f"{folder} does not exist: mount sysfs at /sys")
    # Not all entries are interfaces: "bonding_masters" is a file.
    return [_nic(path, address) for path in sorted(folder.iterdir()) if path.is_dir()]


def _nic(path: Path, address: Callable[[str], str | None]) -> dict[str, Any]:
    speed = read_number(path / "speed") or 0
    device = path / "device"
    driver = device / "driver"
    return {
        "name": path.name,
        "mac": _mac(path),
        # -1 where a driver does not know.
        "speed": speed * _MEGABIT if speed > 0 else None,
        "up": _is_up(path),
        "virtual": "/devices/virtual/" in f"{path.resolve()}/",
        "driver": driver.resolve().name if driver.exists() else None,
        "ipv4": address(path.name),
        "businfo": _businfo(device),
    }


def _mac(path: Path) -> str | None:
    mac = read_value(path / "address")
    # The loopback's is all zeros.
    return mac if mac and mac.strip("0:") else None


def _is_up(path: Path) -> bool:
    state = read_value(path / "operstate")
    # The loopback and some drivers know no operational state, but have a carrier.
    return state == "up" or (state == "unknown" and read_number(path / "carrier") == 1)


def _businfo(device: Path) -> str | None:
    """lshw's way of writing it: ``pci@0000:00:03.0``, ``virtio@2``."""
    bus = device / "subsystem"
    if not bus.exists():
        return None
    name = bus.resolve().name
    return f"{name}@{device.resolve().name.removeprefix(name)}"
