"""Addresses that lead to a machine, and addresses that distinguish it from others."""

from pathlib import Path

import pytest

from ingest.sources.addresses import parse_ipv6, read_addresses
from ingest.sources.machine import Machine
from ingest.sources.nics import read_nics
from tests.ingest.tree import plant

OWN = "3c:ec:ef:47:98:6e"
TABLE = """\
00000000000000000000000000000001 01 80 10 80       lo
20010db8000000000000000000000001 02 40 00 80     eno1
fd000000000000000000000000000005 02 40 00 00     eno1
fe800000000000003eeceffffe47986e 02 40 20 80     eno1
no line of the table
zz010db8000000000000000000000001 02 40 00 80     eno1
"""


def test_global_ipv6_addresses_are_read() -> None:
    assert parse_ipv6(TABLE) == {"eno1": ["2001:db8::1", "fd00::5"]}
    assert parse_ipv6("") == {}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"addr_assign_type": "0"}, {"permanent_mac": OWN}),
        ({"addr_assign_type": "3"}, {"permanent_mac": None}),
        ({}, {}),
        (
            {"bonding_slave/perm_hwaddr": "3c:ec:ef:47:98:6f", "addr_assign_type": "2"},
            {"permanent_mac": "3c:ec:ef:47:98:6f"},
        ),
    ],
)
def test_permanent_address_of_a_card_is_read(
    tmp_path: Path, files: dict[str, str], expected: dict[str, str | None]
) -> None:
    folder = "sys/class/net/eno1"
    written = {"address": OWN, **files}
    plant(tmp_path, {f"{folder}/{name}": text for name, text in written.items()})
    machine = Machine(tmp_path)
    assert read_addresses(machine, tmp_path / folder) == expected


def test_addresses_are_facts_of_an_interface(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "sys/class/net/eno1/address": OWN,
            "sys/class/net/eno1/addr_assign_type": "0",
            "proc/self/net/if_inet6": TABLE,
        },
    )
    (nic,) = read_nics(Machine(tmp_path))
    assert (nic["permanent_mac"], nic["ipv6"]) == (OWN, ["2001:db8::1", "fd00::5"])
