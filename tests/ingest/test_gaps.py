"""Values that no reader understands are reported, not ignored."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rdflib import Graph

from ingest.description import describe
from ingest.gaps import MOST, collected_gaps, report_gap
from ingest.hwloc.read import parse_hwloc
from ingest.machine_files import doubts, hwloc_file, original_file
from ingest.original.probe_file import parse_original
from ingest.probe import probe
from ingest.schema.schema import ProbeDocument
from ingest.sources.addresses import parse_ipv6
from ingest.sources.dmidecode import parse_memory_banks
from ingest.sources.files import read_number
from ingest.sources.lshw import parse_lshw
from ingest.sources.machine import HERE
from ingest.sources.nvidia import parse_gpus
from ingest.sources.sysfs_cpu import parse_size
from ontology.iris import Iris
from ontology.terms import ST
from shapes.validate import validate
from tests.ingest.documents import synthetic

IRIS = Iris("http://localhost:8000")
ORIGINAL = Path(__file__).parent / "machines/original.json"
MEMORY = b'local_memory="1073741824"'
# As in the original's probe of a real Xeon.
TLBS = [
    {"type": "data TLB: 1G pages", "association": "4-way", "size": "4 entries"},
    {"type": "data TLB: 4K pages", "association": "4-way", "size": "64 entries"},
    {
        "type": "instruction TLB: 2M/4M pages",
        "association": "fully",
        "size": "8 entries",
    },
    {"type": "instruction TLB: 4K", "association": "8-way", "size": "64 entries"},
    {"type": "L2 TLB: 4K/2M pages", "association": "6-way", "size": "1536 entries"},
]


def gaps(read: Callable[[], Any]) -> list[str]:
    with collected_gaps() as found:
        read()
    return found


def topology() -> bytes:
    """hwloc's XML of two NUMA domains that state their memory."""
    return synthetic("pack:2 numa:1 core:1 pu:1")


def left_out(document: ProbeDocument) -> set[str]:
    described = describe(document, IRIS)
    report = validate(described.union())
    assert report.conforms, report.lines
    return {str(gap) for gap in described.union().objects(None, ST.leftOut)}


def test_negative_memory_is_a_gap(tmp_path: Path) -> None:
    assert MEMORY in topology()
    (tmp_path / "t.xml").write_bytes(
        topology().replace(MEMORY, b'local_memory="-5"', 1)
    )
    document = hwloc_file(tmp_path / "t.xml", "n1")
    line = "local_memory of NUMANode 0: '-5' is not a number from 0"
    assert left_out(document) == {line}
    assert doubts(document) == [f"left out of hwloc: {line}"]


@pytest.mark.parametrize(
    ("before", "after", "gap"),
    [
        (MEMORY, b'local_memory="-1"', ""),
        (b'os_index="0"', b'os_index="0" cache_size="-7"', ""),
        (
            b"</topology>",
            b'<cpukind cpuset="0x1" forced_efficiency="high"/></topology>',
            "forced_efficiency of a kind of cores: 'high' is not a number from 0",
        ),
        (
            b"</topology>",
            b'<memattr name="Latency"><memattr_value target_obj_gp_index="99" '
            b'value="3"/></memattr></topology>',
            "target_obj_gp_index of a memory attribute: '99' is not a NUMANode's",
        ),
        (
            b'<object type="PU"',
            b'<object type="PCIDev" pci_busid="zz"/><object type="PU"',
            "pci_busid of a PCIDev: 'zz' is not a PCI address",
        ),
        (
            b'<object type="PU"',
            b'<object type="PCIDev" pci_busid="0000:01:00.0" pci_type="?" '
            b'pci_link_speed="fast"/><object type="PU"',
            "pci_link_speed: 'fast' is not a number of GB/s",
        ),
    ],
)
def test_invalid_values_of_hwloc_are_gaps(
    before: bytes, after: bytes, gap: str
) -> None:
    xml = topology()
    assert before in xml
    found = gaps(lambda: parse_hwloc(xml.replace(before, after, 1)))
    assert gap in found if gap else not found


def test_distances_of_other_objects_are_gaps(tmp_path: Path) -> None:
    matrix = '<distances nbobjs="3" relative_depth="2" latency_base="10">'
    matrix += '<latency value="1"/>' * 9 + "</distances>"
    text = re.sub(r"(<object .*?>)", rf"\1{matrix}", topology().decode(), count=1)
    (tmp_path / "old.xml").write_text(text.replace("distances2", "unread"))
    line = "nbobjs of distances: '3' is not the number of NUMA domains"
    assert left_out(hwloc_file(tmp_path / "old.xml", "n1")) == {line}


def changed(change: Callable[[dict[str, Any]], Any]) -> bytes:
    file = json.loads(ORIGINAL.read_text("utf-8"))
    del file["disk"]["hwmon3"]
    change(file)
    return json.dumps(file).encode()


def test_disk_without_a_size_is_a_gap() -> None:
    line = (
        "the file.disk.hwmon3.size (Made Up NVMe): '' is not a size, so the disk is "
        "left out"
    )
    assert left_out(original_file(ORIGINAL)) == {line}


def test_tlbs_of_the_original_are_described(tmp_path: Path) -> None:
    path = tmp_path / "original.json"
    path.write_bytes(changed(lambda file: file["cpu"].update(tlb=TLBS)))
    document = original_file(path)
    assert left_out(document) == set()
    twin: Graph = describe(document, IRIS).union()
    labels = {str(twin.value(one, ST.tlbEntries)) for one in twin.subjects(ST.tlbLevel)}
    assert labels == {"4", "64", "8", "1536"}
    # Each of two sockets has all five.
    assert len(list(twin.subjects(ST.tlbLevel))) == 2 * len(TLBS)
    (second,) = (tlb for tlb in document.facts.tlbs.tlbs if tlb.level == 2)
    assert second.page_sizes == [4096, 2 << 20] and second.ways == 6


@pytest.mark.parametrize(
    ("change", "gap"),
    [
        (
            lambda f: f["cpu"].update(tlb=[{**TLBS[0], "association": "odd"}]),
            "the file.cpu.tlb: 'data TLB: 1G pages, odd, 4 entries' is not a TLB as "
            "cpuid writes it",
        ),
        (
            lambda f: f["cpu"].update(tlb=[TLBS[0], {**TLBS[0], "size": "9 entries"}]),
            "the file.cpu.tlb: 'data TLB: 1G pages, 4-way, 9 entries' is not the "
            "same as in an earlier entry for this TLB",
        ),
        (
            lambda f: f["memory"]["total"].update(size="much"),
            "the file.memory.total.size: 'much' is not a size such as 32 kB",
        ),
        (
            lambda f: f["network"]["eno1"].update(speed="fast", link="yes"),
            "the file.network.eno1.speed: 'fast' is not a speed such as 1Gbit/s",
        ),
        (
            lambda f: f["network"]["eno1"].update(link="maybe"),
            "the file.network.eno1.link: 'maybe' is not yes or no",
        ),
        (
            lambda f: f["cpu"]["specs"].update(max_mhz=-3.0),
            "the file.cpu.specs.max_mhz: -3.0 is not a number of MHz",
        ),
        (
            lambda f: f["cpu"]["cache"]["L3"].update(associativity="all"),
            "the file.cpu.cache.L3.associativity: 'all' is not a whole number",
        ),
        (
            lambda f: f["numa"]["0"].update(total_memory="big"),
            "the file.numa[0].total_memory: 'big' is not a size such as 32 kB",
        ),
        (
            lambda f: f.update(gpus={"0": {}}),
            "the file.gpus: '0' is not a GPU with a PCI address",
        ),
        (lambda f: f["network"]["eno1"].update(speed="no-link"), ""),
    ],
)
def test_invalid_values_of_the_original_are_gaps(
    change: Callable[[Any], Any], gap: str
) -> None:
    found = gaps(lambda: parse_original(changed(change)))
    assert found == ([gap] if gap else [])


def nic(**facts: object) -> bytes:
    node = {"class": "network", "id": "network", "logicalname": "eno1", **facts}
    return json.dumps(node).encode()


@pytest.mark.parametrize(
    ("read", "gap"),
    [
        (
            lambda: parse_lshw(nic(serial="00:11")),
            "serial of a network interface: '00:11' is not a hardware address",
        ),
        (
            lambda: parse_lshw(nic(configuration={"ip": "1.2.3"})),
            "ip of a network interface: '1.2.3' is not an IPv4 address",
        ),
        (
            lambda: parse_lshw(nic(size="fast")),
            "size of network: 'fast' is not a whole number from 1",
        ),
        (
            lambda: parse_ipv6("nonsense"),
            "a line of /proc/net/if_inet6: 'nonsense' is not an IPv6 address",
        ),
        (
            lambda: parse_size("32 bananas"),
            "size of a cache in /sys: '32 bananas' is not a size such as 32K",
        ),
        (
            lambda: parse_memory_banks(
                b"Handle 0x1, DMI type 17, 40 bytes\nMemory Device\n"
                b"\tSize: 8 acres\n\tLocator: A1\n"
            ),
            "a field of a memory slot: '8 acres' is not in bytes",
        ),
        (
            lambda: parse_gpus(
                b"<nvidia_smi_log><gpu><fb_memory_usage><total>9 acres</total>"
                b"</fb_memory_usage></gpu></nvidia_smi_log>"
            ),
            "fb_memory_usage/total: '9 acres' is not in B",
        ),
    ],
)
def test_invalid_values_of_sources_are_gaps(read: Callable[[], Any], gap: str) -> None:
    assert any(line.startswith(gap) for line in gaps(read)), gaps(read)


def test_invalid_number_in_sysfs_is_a_gap(tmp_path: Path) -> None:
    (tmp_path / "mtu").write_text("many\n")
    line = f"{tmp_path}/mtu: 'many' is not a whole number"
    assert gaps(lambda: read_number(tmp_path / "mtu")) == [line]
    assert gaps(lambda: read_number(tmp_path / "none")) == []


def test_probe_lists_gaps_by_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources run concurrently; each gets only the gaps it reported itself."""

    def read(machine: object) -> dict[str, Any]:
        report_gap("size of sda", "much", "a number")
        return {}

    sources = {"smart": read, "disks": lambda machine: [], "pcp": lambda *_: {}}
    monkeypatch.setattr("ingest.probe.SOURCES", sources)
    messages: list[str] = []
    document = probe("n1", progress=messages.append, machine=HERE)
    line = "size of sda: 'much' is not a number"
    assert document["sources"]["smart"]["left_out"] == [line]
    assert document["sources"]["disks"]["left_out"] == []
    assert [line for line in messages if "left out" in line] == [
        "smart: 0.00 s, 1 value left out"
    ]


def test_number_of_gaps_is_limited() -> None:
    def many() -> None:
        for number in range(MOST + 7):
            report_gap(f"value {number}", "x" * 1000, "one")
        report_gap("value 0", "x" * 1000, "one")

    found = gaps(many)
    assert len(found) == MOST + 1 and found[-1] == "7 more values were left out"
    assert max(map(len, found)) <= 200
