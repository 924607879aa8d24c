"""Devices, core types and memories in hwloc's XML, on a machine with all of them."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ingest.hwloc.host import host_facts
from ingest.hwloc.read import parse_hwloc, read_hwloc

FILE = Path(__file__).parent / "machines/everything.v3.xml"
# The device types of hwloc 2, by those of hwloc 3.
NUMBERS = {
    bits: f'osdev_type="{number}"'
    for bits, number in (("12", 5), ("1", 0), ("16", 2), ("48", 3), ("3", 0), ("2", 0))
}
FACTS = parse_hwloc(FILE.read_bytes())


def reworded(*changes: tuple[str, str]) -> dict[str, Any]:
    text = FILE.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_hwloc(text.encode())


def older(folder: Path, flags: str) -> dict[str, Any]:
    """The facts after hwloc 2 has read and rewritten the file."""
    text = FILE.read_text("utf-8").replace('version="3.0"', 'version="2.0"')
    text = re.sub('osdev_type="([0-9]+)"', lambda m: NUMBERS[m[1]], text)
    # hwloc 2 has at its machine object what hwloc 3 has at the end.
    lines = [line for line in text.splitlines() if not line.startswith("  <info")]
    path = folder / "older.xml"
    path.write_text("\n".join(lines))
    command = ["lstopo-no-graphics", "-i", str(path), "--whole-io", "--disallowed"]
    command += ["--of", "xml", "--export-xml-flags", flags]
    done = subprocess.run(command, capture_output=True, check=True)
    return parse_hwloc(done.stdout)


def names(facts: dict[str, Any]) -> dict[str, list[str]]:
    return {
        device["name"]: device["kinds"]
        for holder in (*facts["pci"], facts)
        for device in holder["os_devices"]
    }


def test_pci_devices_have_class_and_location() -> None:
    bridge, gpu, *_ = FACTS["pci"]
    assert (bridge["busid"], bridge["bridge"], bridge["parent"], bridge["buses"]) == (
        "0000:00:01.0",
        True,
        None,
        "0000:[01-01]",
    )
    assert (gpu["busid"], gpu["parent"]) == ("0000:01:00.0", bridge["busid"])
    assert (gpu["class_id"], gpu["class_name"]) == ("0302", "3D controller")
    assert (gpu["vendor_id"], gpu["device_id"]) == ("10de", "20b0")
    assert (gpu["subvendor_id"], gpu["subdevice_id"]) == ("10de", "1450")
    assert (gpu["vendor"], gpu["model"]) == ("NVIDIA Corporation", "Made Up A")
    assert (gpu["revision"], gpu["slot"]) == ("a1", "3")
    assert gpu["link_speed"] == 31_507_692_000
    assert [pci["threads"] for pci in FACTS["pci"]] == [[0, 1, 2, 3]] * 3 + [
        [4, 5, 6, 7]
    ] * 2


def test_unknown_link_speed_is_none() -> None:
    assert FACTS["pci"][2]["link_speed"] is None


def test_device_kinds_are_bits_in_version_3() -> None:
    assert names(FACTS) == {
        "cuda0": ["gpu", "coprocessor"],
        "nvml0": ["gpu", "coprocessor"],
        "sda": ["storage"],
        "ib0": ["network"],
        "mlx5_0": ["network", "openfabrics"],
        "mem0": ["storage", "memory"],
        "dax0.0": ["memory"],
    }


@pytest.mark.parametrize(
    ("number", "subtype", "info", "kinds"),
    [
        (0, "Disk", "", ["storage"]),
        (0, "CXLMem", "", ["memory"]),
        (0, "CXLMem", '<info name="CXLPMEMSize" value="1"/>', ["storage", "memory"]),
        (1, "NVML", "", ["gpu"]),
        (2, "", "", ["network"]),
        (3, "", "", ["network", "openfabrics"]),
        (3, "BXI", "", ["network"]),
        (4, "", "", ["dma"]),
        (5, "CUDA", "", ["gpu", "coprocessor"]),
        (5, "OpenCL", '<info name="OpenCLDeviceType" value="GPU"/>', ["gpu"]),
        (5, "VectorEngine", "", ["coprocessor"]),
        (77, "", "", []),
    ],
)
def test_device_kinds_are_numbers_before_version_3(
    number: int, subtype: str, info: str, kinds: list[str]
) -> None:
    old = 'name="ib0" osdev_type="16">'
    new = f'name="ib0" subtype="{subtype}" osdev_type="{number}">{info}'
    found = names(reworded((old, new), ('version="3.0"', 'version="2.0"')))["ib0"]
    assert set(kinds) <= set(found) and (found == kinds or "coprocessor" in found)


def test_dax_of_non_volatile_memory_is_storage_too() -> None:
    changes = (
        ('version="3.0"', 'version="2.0"'),
        ('subtype="SPM" osdev_type="2"', 'subtype="NVM" osdev_type="0"'),
    )
    assert names(reworded(*changes))["dax0.0"] == ["storage", "memory"]


def test_devices_without_a_pci_device_have_a_parent() -> None:
    [dax] = FACTS["os_devices"]
    assert (dax["name"], dax["subtype"], dax["threads"]) == (
        "dax0.0",
        "SPM",
        [4, 5, 6, 7],
    )


def test_duplicate_bus_id_is_numbered() -> None:
    facts = reworded(("0001:81:00.0", "0001:80:00.0"))
    assert [pci["busid"] for pci in facts["pci"]][-2:] == [
        "0001:80:00.0",
        "0001:80:00.0-1",
    ]


def test_device_without_a_bus_id_is_not_a_pci_device() -> None:
    assert len(reworded(("0001:81:00.0", "somewhere"))["pci"]) == 4


def test_kinds_of_cores_are_read() -> None:
    listed = [
        (k["rank"], k["core_type"], k["threads"], k["base"], k["max"])
        for k in FACTS["kinds"]
    ]
    assert listed == [
        (0, "IntelAtom", [4, 5, 6], None, 2_000_000_000),
        (1, "IntelCore", [0, 1, 2, 3], 2_500_000_000, 4_000_000_000),
    ]


def test_core_kinds_are_ranked_by_their_differences() -> None:
    def ranks(*changes: tuple[str, str]) -> list[int | None]:
        return [kind["rank"] for kind in reworded(*changes)["kinds"]]

    alike = ('forced_efficiency="0"', 'forced_efficiency="1"')
    assert ranks(('forced_efficiency="0"', 'forced_efficiency="900"')) == [1, 0]
    assert ranks(alike) == [0, 1]
    nameless = ('"CoreType"', '"Other"')
    assert ranks(alike, nameless, ('"2000"', '"9000"')) == [1, 0]
    assert ranks(alike, nameless, ('"2000"', '"4000"')) == [None, None]


def test_memory_has_its_technology_and_tier() -> None:
    listed = {n["os_index"]: (n["subtype"], n["tier"]) for n in FACTS["numa"]}
    assert listed == {
        0: ("DRAM", 1),
        1: ("HBM", 0),
        2: ("CXL-DRAM", 2),
        3: ("GPUMemory", None),
    }
    [gpu] = [n for n in FACTS["numa"] if n["os_index"] == 3]
    assert (gpu["threads"], gpu["near"]) == ([], list(range(8)))


def test_memory_side_cache_has_its_memory() -> None:
    [cache] = FACTS["memory_caches"]
    assert (cache["size"], cache["level"], cache["domains"]) == (4 << 30, 1, [0])
    assert not [c for c in FACTS["caches"] if c["size"] == 4 << 30]


def test_link_speeds_follow_hwloc() -> None:
    assert FACTS["memory_speeds"] == [
        {"numa": 0, "measure": "Bandwidth", "value": 100000, "threads": [0, 1, 2, 3]},
        {"numa": 1, "measure": "Bandwidth", "value": 400000, "threads": [4, 5, 6, 7]},
        {"numa": 0, "measure": "Latency", "value": 90, "threads": [0, 1, 2, 3]},
    ]


def test_only_distances_between_memories_are_read() -> None:
    assert len(FACTS["distances"]) == 16
    assert FACTS["distances"][1] == {"from": 0, "to": 1, "value": 21}


def test_mixed_matrix_gives_its_distances_between_memories() -> None:
    numbers = '<indexes length="8">0 1 2 3 </indexes>'
    mixed = "<indexes>NUMANode:42 NUMANode:43 OSDev:23 NUMANode:41 </indexes>"
    facts = reworded(
        ('<distances2 type="NUMANode" nbobjs="4" kind="5" name="NUMALatency"', "<d "),
        (numbers, mixed),
        ("<d  indexing", '<distances2hetero kind="21" indexing'),
        (
            '18">10 40 40 40 40 10 </u64values>\n  </distances2>',
            '18">10 40 40 40 40 10 </u64values>\n  </distances2hetero>',
        ),
    )
    assert [(d["from"], d["to"], d["value"]) for d in facts["distances"]] == [
        (0, 0, 10),
        (0, 1, 21),
        (0, 3, 40),
        (1, 0, 21),
        (1, 1, 10),
        (1, 3, 40),
        (3, 0, 40),
        (3, 1, 40),
        (3, 3, 10),
    ]


def test_groups_and_unavailable_threads_are_read() -> None:
    assert FACTS["groups"] == [
        {"level": 0, "threads": [0, 1, 2, 3], "subtype": "Cluster"}
    ]
    allowed = {t["os_index"]: t["allowed"] for t in FACTS["threads"]}
    assert allowed == {cpu: cpu < 6 for cpu in range(8)}


def test_system_and_board_are_read() -> None:
    facts = host_facts(FACTS)
    assert facts["os"]["kernel"] == "6.12.0"
    assert facts["board"]["board"]["model"] == "MUB-2"
    assert facts["board"]["system"]["uuid"] is None
    assert host_facts({"info": {}}) == {}


@pytest.mark.parametrize("flags", ["0", "v1"])
def test_older_versions_agree_where_possible(tmp_path: Path, flags: str) -> None:
    facts = older(tmp_path, flags)
    same = ("threads", "cores", "caches", "dies")
    assert {key: facts[key] for key in same} == {key: FACTS[key] for key in same}
    assert [p["busid"] for p in facts["pci"]] == [p["busid"] for p in FACTS["pci"]]
    assert [p["threads"] for p in facts["pci"]] == [p["threads"] for p in FACTS["pci"]]
    assert set(names(facts)) == set(names(FACTS))
    assert names(facts)["mem0"] == ["storage", "memory"]
    assert names(facts)["mlx5_0"] == ["network", "openfabrics"]


def test_devices_of_this_machine_are_read() -> None:
    facts = read_hwloc()
    for pci in facts["pci"]:
        assert set(pci["threads"]) <= {t["os_index"] for t in facts["threads"]}


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ('cpuset="0x00000003"', 'cpuset="0x00000083"', "a Core has CPUs that its"),
        ('value="90"', 'value="fast"', "'fast', not a number"),
        ('os_index="3" subtype="GPU', 'os_index="2" subtype="GPU', "NUMANode 2 occurs"),
    ],
)
def test_contradictions_are_refused(old: str, new: str, finding: str) -> None:
    with pytest.raises(Exception, match=finding):
        reworded((old, new))
