"""lshw's trees in the formats of its versions."""

import json
from typing import Any

import pytest

from ingest.errors import MalformedSourceError
from ingest.sources.lshw import parse_lshw, read_lshw

BANK = {
    "id": "bank:0",
    "class": "memory",
    "description": "DIMM DDR4 Synchronous Registered (Buffered) 3200 MHz (0.3 ns)",
    "product": "M393A8G40AB2-CWE",
    "vendor": "Samsung",
    "serial": "H0MK000",
    "slot": "P1-DIMMA1",
    "size": 68719476736,
    "clock": 3200000000,
}
EMPTY_BANK = {"id": "bank:1", "class": "memory", "description": "[empty]", "slot": "A2"}
CARD = {
    "id": "network",
    "class": "network",
    "product": "Ethernet Controller 10G X550T",
    "vendor": "Intel Corporation",
    "logicalname": ["eno1", "eno1np0"],
    "serial": "3c:ec:ef:47:98:6e",
    "businfo": "pci@0000:61:00.0",
    "size": 1000000000,
    "configuration": {
        "firmware": "0x800007f3, 1.1276.0",
        "driver": "ixgbe",
        "ip": "172.23.120.104",
    },
}
SATA = {
    "id": "disk",
    "class": "disk",
    "product": "SAMSUNG MZ7LH480",
    "vendor": "Samsung",
    "logicalname": "/dev/sda",
    "version": "904Q",
    "serial": "S45PNA0M",
}
NVME = {
    "id": "nvme",
    "class": "storage",
    "product": "KINGSTON SKC2000M8500G",
    "logicalname": "/dev/nvme0",
    "version": "S2681101",
    "serial": "50026B",
    "children": [
        {"id": "namespace:0", "class": "disk", "logicalname": "hwmon3"},
        {"id": "namespace:1", "class": "disk", "logicalname": "/dev/ng0n1"},
        {"id": "namespace:2", "class": "disk", "logicalname": "/dev/nvme0n1"},
    ],
}
FIRMWARE = {
    "id": "firmware",
    "class": "memory",
    "vendor": "American Megatrends Inc.",
    "version": "2.1",
    "date": "02/21/2020",
    "size": 65536,
}
CPU = {
    "id": "cpu:1",
    "class": "processor",
    "product": "AMD EPYC 7352 24-Core Processor",
    "vendor": "Advanced Micro Devices [AMD]",
    "businfo": "cpu@0",
    "configuration": {"microcode": "137363533"},
}
SYSTEM_MEMORY = {
    "id": "memory",
    "class": "memory",
    "size": 549755813888,
    "children": [BANK, EMPTY_BANK],
}
TREE = {
    "id": "node1",
    "class": "system",
    "product": "AS-4023S-TRT (To be filled by O.E.M.)",
    "vendor": "Supermicro",
    "serial": "S1234",
    "configuration": {"uuid": "00000000-0000-0000-0000-3CECEF47986E"},
    "children": [
        {
            "id": "core",
            "class": "bus",
            "product": "H11DSi-NT",
            "serial": "WM19S002",
            "children": [
                FIRMWARE,
                {"id": "cpu:0", "class": "processor", "slot": "P2"},
                CPU,
                {"id": "cache:0", "class": "memory", "size": 1048576},
                SYSTEM_MEMORY,
                {"id": "pci", "class": "bridge", "children": [CARD, NVME]},
                {"id": "sata", "class": "storage", "children": [SATA]},
            ],
        }
    ],
}


def parse(document: Any) -> dict[str, Any]:
    return parse_lshw(json.dumps(document).encode())


@pytest.mark.parametrize("form", [TREE, [TREE]], ids=["debian-12", "list"])
def test_banks_cards_disks_and_memory_are_read(form: Any) -> None:
    facts = parse(form)
    assert facts["memory"] == 549755813888
    assert facts["memory_banks"] == [
        {
            "slot": "P1-DIMMA1",
            "size": 68719476736,
            "clock": 3200000000,
            "vendor": "Samsung",
            "model": "M393A8G40AB2-CWE",
            "serial": "H0MK000",
            "description": BANK["description"],
        },
        dict.fromkeys(facts["memory_banks"][0]) | {"slot": "A2"},
    ]
    assert [nic["name"] for nic in facts["nics"]] == ["eno1", "eno1np0"]
    assert facts["nics"][0] == {
        "name": "eno1",
        "model": "Ethernet Controller 10G X550T",
        "vendor": "Intel Corporation",
        "serial": "3c:ec:ef:47:98:6e",
        "mac": "3c:ec:ef:47:98:6e",
        "speed": 1_000_000_000,
        "driver": "ixgbe",
        "ipv4": "172.23.120.104",
        "firmware": "0x800007f3, 1.1276.0",
        "businfo": "pci@0000:61:00.0",
    }
    assert facts["disks"] == [
        {
            "name": "nvme0n1",
            "model": "KINGSTON SKC2000M8500G",
            "vendor": None,
            "serial": "50026B",
            "firmware": "S2681101",
        },
        {
            "name": "sda",
            "model": "SAMSUNG MZ7LH480",
            "vendor": "Samsung",
            "serial": "S45PNA0M",
            "firmware": "904Q",
        },
    ]


def test_machine_without_details_is_read() -> None:
    for document in ({"id": "vm"}, []):
        facts = parse(document)
        assert not any(facts[key] for key in ("memory_banks", "nics", "disks", "cpus"))
        assert facts["memory"] is None
        for part in ("board", "system", "bios"):
            assert not any(facts[part].values())


def test_machine_vendor_and_microcode_are_read() -> None:
    facts = parse(TREE)
    assert facts["system"] == {
        "vendor": "Supermicro",
        "model": "AS-4023S-TRT",
        "serial": "S1234",
        "uuid": "00000000-0000-0000-0000-3CECEF47986E",
    }
    assert facts["board"] == {
        "vendor": None,
        "model": "H11DSi-NT",
        "serial": "WM19S002",
    }
    assert facts["bios"]["version"] == "2.1"
    # The other socket is empty.
    assert facts["cpus"] == [
        {
            "model": "AMD EPYC 7352 24-Core Processor",
            "vendor": "Advanced Micro Devices [AMD]",
            "microcode": "137363533",
        }
    ]


def test_placeholders_are_not_facts() -> None:
    bank = {**BANK, "serial": "Unknown", "product": "None"}
    (found,) = parse(bank)["memory_banks"]
    assert (found["serial"], found["model"]) == (None, None)


def test_invalid_bytes_affect_only_their_value() -> None:
    output = json.dumps(BANK).encode().replace(b"Samsung", b"S\xffm\x01")
    assert parse_lshw(output)["memory_banks"][0]["vendor"] == "S\ufffdm\x01"


@pytest.mark.parametrize(
    "output",
    [b"", b"H/W path  Device\n", b'{"id": "cut', b"[" * 100_000],
    ids=["empty", "table", "cut-short", "deep"],
)
def test_other_output_is_refused(output: bytes) -> None:
    with pytest.raises(MalformedSourceError, match="lshw printed no JSON"):
        parse_lshw(output)


@pytest.mark.parametrize("document", [3, "text", [[1]], {"children": [None]}])
def test_other_json_is_refused(document: Any) -> None:
    with pytest.raises(MalformedSourceError, match="not a tree of devices"):
        parse(document)


def test_lshw_of_this_machine_is_read() -> None:
    facts = read_lshw()
    assert {"memory_banks", "nics", "disks", "memory", "cpus"} < facts.keys()
    assert facts["cpus"][0]["model"]
