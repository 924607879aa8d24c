"""TLBs, from CPUID on processors of both makers."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from ingest.errors import MalformedSourceError, SourceMissingError
from ingest.sources.cpuid import core_type, parse_cpuid, vendor
from ingest.sources.tlb import parse_tlb_size, parse_tlbs, read_tlbs
from ingest.sources.tlb_descriptors import DESCRIPTORS
from tests.ingest.tree import copied, plant

INTEL = "0x756e6547 ecx=0x6c65746e edx=0x49656e69"
AMD = "0x68747541 ecx=0x444d4163 edx=0x69746e65"
K, M, G = 1 << 10, 1 << 20, 1 << 30


def dump(maker: str, *leaves: str) -> bytes:
    """The output of ``cpuid -r -1``, with registers written as eax/ebx/ecx/edx."""
    lines = ["CPU:", f"   0x00000000 0x00: eax=0x00000020 ebx={maker}"]
    for leaf in leaves:
        number, subleaf, *words = leaf.split()
        named = " ".join(
            f"{name}=0x{word}"
            for name, word in zip(("eax", "ebx", "ecx", "edx"), words, strict=True)
        )
        lines.append(f"   0x{number} 0x{subleaf}: {named}")
    return "\n".join([*lines, ""]).encode()


def rows(output: bytes) -> list[tuple[object, ...]]:
    return [
        (
            tlb["level"],
            tlb["type"],
            tlb["page_sizes"],
            tlb["entries"],
            "fully" if tlb["fully"] else tlb["ways"],
        )
        for tlb in parse_tlbs(output)["tlbs"]
    ]


# Zen 4 (EPYC 9004).
ZEN_4 = dump(
    AMD,
    "80000005 00 ff48ff40 ff48ff40 20080140 20080140",
    "80000006 00 5c002200 6c004200 04006140 0a009140",
    "80000019 00 f048f040 00000000 00000000 00000000",
)
# Skylake-X: leaf 2 only.
SKYLAKE_X = dump(INTEL, "00000002 00 76036301 00f0b5ff 00000000 00c30000")
# Ice Lake and newer: leaf 2 refers to leaf 18H.
ICE_LAKE = dump(
    INTEL,
    "00000002 00 00feff01 000000f0 00000000 00000000",
    "00000018 00 00000008 00000000 00000000 00000000",
    "00000018 01 00000000 00080001 00000010 00000022",
    "00000018 02 00000000 00100006 00000001 00000122",
    "00000018 03 00000000 00040001 00000010 00000021",
    "00000018 04 00000000 00040006 00000008 00000021",
    "00000018 05 00000000 00080008 00000001 00000121",
    "00000018 06 00000000 00080007 00000080 00004043",
    "00000018 07 00000000 00080009 00000080 00004043",
)


def test_zen_4_is_parsed() -> None:
    assert rows(ZEN_4) == [
        (1, "instruction", [2 * M], 64, "fully"),
        (1, "data", [2 * M], 72, "fully"),
        (1, "instruction", [4 * K], 64, "fully"),
        (1, "data", [4 * K], 72, "fully"),
        (2, "instruction", [2 * M], 512, 2),
        (2, "data", [2 * M], 3072, 6),
        (2, "instruction", [4 * K], 512, 4),
        (2, "data", [4 * K], 3072, 8),
        (1, "instruction", [G], 64, "fully"),
        (1, "data", [G], 72, "fully"),
    ]


def test_old_amd_with_a_unified_tlb_is_parsed() -> None:
    output = dump(AMD, "80000006 00 00000000 00004200 00000000 00000000")
    assert rows(output) == [(2, "unified", [4 * K], 512, 4)]


def test_amd_associativity_in_another_leaf_is_parsed() -> None:
    output = dump(AMD, "80000006 00 00000000 92004200 00000000 00000000")
    assert rows(output)[1] == (2, "data", [4 * K], 512, None)


def test_skylake_x_is_parsed() -> None:
    assert rows(SKYLAKE_X) == [
        (1, "data", [2 * M, 4 * M], 32, 4),
        (1, "data", [G], 4, "fully"),
        (1, "data", [4 * K], 64, 4),
        (1, "instruction", [2 * M, 4 * M], 8, "fully"),
        (1, "instruction", [4 * K], 64, 8),
        (2, "unified", [4 * K, 2 * M], 1536, 6),
        (2, "unified", [G], 16, 4),
    ]


def test_ice_lake_is_parsed() -> None:
    assert rows(ICE_LAKE) == [
        (1, "instruction", [4 * K], 128, 8),
        (1, "instruction", [2 * M, 4 * M], 16, "fully"),
        (1, "data", [4 * K], 64, 4),
        (1, "data", [2 * M, 4 * M], 32, 4),
        (1, "data", [G], 8, "fully"),
        (2, "unified", [4 * K, 2 * M, 4 * M], 1024, 8),
        (2, "unified", [4 * K, G], 1024, 8),
    ]


def test_invalid_registers_are_omitted() -> None:
    output = dump(INTEL, "00000002 00 00000001 80b5b5b5 00000000 000000b5")
    assert rows(output) == [(1, "instruction", [4 * K], 64, 8)]


@pytest.mark.parametrize(
    ("leaf", "kind"),
    [("20000001", "Atom"), ("40000001", "Core"), ("00000000", None)],
)
def test_core_kinds_of_a_hybrid_processor_are_parsed(
    leaf: str, kind: str | None
) -> None:
    output = dump(
        INTEL,
        "00000007 00 00000002 239c27eb 98c027ac fc1cc410",
        f"0000001a 00 {leaf} 00000000 00000000 00000000",
    )
    assert core_type(parse_cpuid(output)) == kind


def test_first_cpu_of_several_is_used() -> None:
    both = ZEN_4.replace(b"CPU:", b"CPU 0:") + ICE_LAKE.replace(b"CPU:", b"CPU 1:")
    assert vendor(parse_cpuid(both)) == "AuthenticAMD"


@pytest.mark.parametrize(
    "output",
    [b"", b"cpuid: command not found\n", ZEN_4[:30], b"CPU:\n   0x00000000 0x00: eax="],
)
def test_other_output_is_refused(output: bytes) -> None:
    with pytest.raises(MalformedSourceError, match="printed no registers"):
        parse_tlbs(output)


def test_truncated_dump_loses_only_the_missing_part() -> None:
    for cut in range(len(ICE_LAKE)):
        try:
            found = rows(ICE_LAKE[:cut])
        except MalformedSourceError as error:
            assert "\n" not in str(error)
        else:
            assert set(map(str, found)) <= set(map(str, rows(ICE_LAKE)))


def test_processor_without_tlb_leaves_is_reported() -> None:
    with pytest.raises(MalformedSourceError, match="AuthenticAMD .* describes no TLB"):
        parse_tlbs(dump(AMD))


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="CPUID is of x86")
def test_descriptors_match_the_cpuid_tool(tmp_path: Path) -> None:
    """The tool has its own table; where it says less, the manual decides."""
    text = ""
    for place, code in enumerate(DESCRIPTORS):
        text += f"CPU {place}:\n   0x00000000 0x00: eax=0x00000002 ebx={INTEL}\n"
        text += "   0x00000001 0x00: eax=0x000506e3 ebx=0x0 ecx=0x0 edx=0x0\n"
        text += f"   0x00000002 0x00: eax=0x00{code:02x}0001"[:-4] + "0001"
        text += " ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n"
    (tmp_path / "dump").write_text(text.replace("0x0 ", "0x00000000 "))
    decoded = subprocess.run(
        ["cpuid", "-f", str(tmp_path / "dump")], capture_output=True, text=True
    ).stdout
    found = dict(re.findall(r"^ +0x([0-9a-f]{2}): (.*TLB.*)$", decoded, re.MULTILINE))
    assert set(found) >= {f"{code:02x}" for code in DESCRIPTORS}
    for code, arrays in DESCRIPTORS.items():
        words = found[f"{code:02x}"]
        _, type_, pages, entries, ways = arrays[0]
        assert re.search(rf"\b{entries}(/4)? entries", words.replace("4/8", "8/4")), (
            words
        )
        if type_ != "unified":
            assert type_ in words
        assert ("4K" in words) == (4 * K in pages), words
        way = re.search(r"(\d+)-way", words)
        # The manual calls descriptor 2 fully associative, the tool 4-way.
        if way and code != 2:
            assert int(way[1]) == ways, words


def test_tlb_size_in_cpuinfo_is_read() -> None:
    found = parse_tlb_size("flags\t\t: fpu\nTLB size\t: 3584 4K pages\n")
    assert found is not None
    (tlb,) = found["tlbs"]
    assert (tlb["level"], tlb["type"], tlb["entries"]) == (2, None, 3584)
    assert parse_tlb_size("TLB size\t: 0 4K pages\n") is None
    assert parse_tlb_size("model name\t: ARM\n") is None


def test_missing_tool_falls_back_to_registers_or_cpuinfo(tmp_path: Path) -> None:
    files = {"proc/cpuinfo": "TLB size\t: 3584 4K pages\n"}
    machine = copied(plant(tmp_path, files), {"registers": ZEN_4.decode()})
    assert len(read_tlbs(machine)["tlbs"]) == 10
    machine = copied(tmp_path, {"registers": ""})
    assert len(read_tlbs(machine)["tlbs"]) == 1
    plant(tmp_path, {"proc/cpuinfo": "Features: fp\n"})
    with pytest.raises(SourceMissingError, match="apt-get install cpuid"):
        read_tlbs(machine)
    machine = copied(tmp_path, {"registers": "", "architecture": "aarch64"})
    with pytest.raises(SourceMissingError, match="aarch64 has no CPUID"):
        read_tlbs(machine)
