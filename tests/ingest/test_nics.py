"""Network interfaces, from trees that imitate /sys/class/net."""

from pathlib import Path

import pytest

from ingest.errors import SourceMissingError
from ingest.sources.nics import read_nics
from tests.ingest.tree import copied, plant

NET = "sys/class/net"


def interface(root: Path, name: str, folder: str, files: dict[str, str]) -> None:
    """An interface whose files are below /sys/devices, as in the kernel."""
    plant(root, {f"sys/devices/{folder}/{path}": text for path, text in files.items()})
    (root / NET).mkdir(parents=True, exist_ok=True)
    (root / NET / name).symlink_to(root / "sys/devices" / folder)


def test_network_card_is_read(tmp_path: Path) -> None:
    device = tmp_path / "sys/devices/pci0000:60/0000:61:00.0"
    interface(
        tmp_path,
        "eno1",
        "pci0000:60/0000:61:00.0/net/eno1",
        {"address": "3c:ec:ef:47:98:6e\n", "speed": "10000\n", "operstate": "up\n"}
        | {"duplex": "full\n", "mtu": "9000\n"},
    )
    for path in ("sys/bus/pci/drivers/ixgbe", "sys/bus/pci"):
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
    (device / "subsystem").symlink_to(tmp_path / "sys/bus/pci")
    (device / "driver").symlink_to(tmp_path / "sys/bus/pci/drivers/ixgbe")
    (device / "net/eno1/device").symlink_to(device)
    machine = copied(
        tmp_path,
        {
            "addresses": '{"eno1": "172.23.120.104"}',
            "firmware": '{"eno1": "0x800007f3, 1.1276.0"}',
        },
    )
    assert read_nics(machine) == [
        {
            "name": "eno1",
            "mac": "3c:ec:ef:47:98:6e",
            "speed": 10_000_000_000,
            "duplex": "full",
            "mtu": 9000,
            "up": True,
            "virtual": False,
            "driver": "ixgbe",
            "ipv4": "172.23.120.104",
            "businfo": "pci@0000:61:00.0",
            "firmware": "0x800007f3, 1.1276.0",
        }
    ]


def test_virtual_and_down_interfaces_are_read(tmp_path: Path) -> None:
    loopback = {
        "address": "00:00:00:00:00:00\n",
        "operstate": "unknown\n",
        "carrier": "1\n",
    }
    interface(tmp_path, "lo", "virtual/net/lo", loopback)
    down = {"operstate": "down\n", "speed": "-1\n"}
    interface(tmp_path, "br0", "virtual/net/br0", down)
    plant(tmp_path, {f"{NET}/bonding_masters": "bond0\n"})
    bridge, loop = read_nics(copied(tmp_path))
    assert (bridge["name"], bridge["up"], bridge["speed"]) == ("br0", False, None)
    assert (loop["up"], loop["virtual"], loop["mac"]) == (True, True, None)
    assert (loop["driver"], loop["businfo"]) == (None, None)


def test_missing_sysfs_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="mount sysfs"):
        read_nics(copied(tmp_path))


def test_interfaces_of_this_machine_are_read() -> None:
    interfaces = {nic["name"]: nic for nic in read_nics()}
    assert interfaces["lo"]["virtual"]
    assert interfaces["lo"]["ipv4"] in ("127.0.0.1", None)
