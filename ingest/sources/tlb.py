"""Translation lookaside buffers (TLBs), from CPUID.

Intel: leaf 2 lists one-byte descriptors, leaf 18H describes each TLB (Intel 64 and
IA-32 Architectures Software Developer's Manual, volume 2A, CPUID, tables 3-12 and 3-8).
AMD and Hygon: leaves 8000_0005h, 8000_0006h and 8000_0019h (AMD64 Architecture
Programmer's Manual, volume 3, appendix E.4).
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TypedDict

from ingest.errors import MalformedSourceError, ProbeSourceError, SourceMissingError
from ingest.sources.cpuid import (
    NOTHING,
    Leaves,
    Registers,
    core_type,
    parse_cpuid,
    vendor,
)
from ingest.sources.files import read_text
from ingest.sources.machine import HERE, Machine
from ingest.sources.tlb_descriptors import DESCRIPTORS, LEAF_18

_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_SIZES_18 = (4 * _KIB, 2 * _MIB, 4 * _MIB, _GIB)
_TYPES_18 = {1: "data", 2: "instruction", 3: "unified", 4: "load", 5: "store"}
_MOST_SUBLEAVES = 64
# In leaves 8000_0006h and 8000_0019h four bits encode the number of ways.
_AMD_WAYS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 8: 16}
_AMD_WAYS |= {0xA: 32, 0xB: 48, 0xC: 64, 0xD: 96, 0xE: 128}
_AMD_FULLY_4, _AMD_FULLY_8 = 0xF, 0xFF
_SIZE_IN_CPUINFO = re.compile(
    r"^TLB size\s*: ([0-9]{1,9}) 4K pages$", re.MULTILINE | re.ASCII
)


class TlbFacts(TypedDict):
    """One TLB of a core, as a probe writes it."""

    level: int
    type: str | None
    page_sizes: list[int]
    entries: int
    ways: int | None
    fully: bool


class CoreTlbFacts(TypedDict):
    """The TLBs of a core."""

    core_type: str | None
    tlbs: list[TlbFacts]


def read_tlbs(machine: Machine = HERE) -> CoreTlbFacts:
    """Read the TLBs of a core from CPUID, else /proc/cpuinfo; raises
    ProbeSourceError.
    """
    # The collector runs the instruction itself if the tool is not installed.
    for name in ("cpuid", "registers"):
        with suppress(ProbeSourceError):
            return parse_tlbs(machine.tool(name))
    found = parse_tlb_size(read_text(machine.root / "proc/cpuinfo"))
    if found is None:
        raise SourceMissingError(_no_source(machine.architecture()))
    return found


def _no_source(architecture: str | None) -> str:
    if architecture in (None, "x86_64"):
        return "no source describes the TLBs: apt-get install cpuid"
    return (
        f"no source describes the TLBs: {architecture} has no CPUID instruction; "
        "nothing to fix there"
    )


def parse_tlbs(output: bytes) -> CoreTlbFacts:
    """Parse the TLBs of one core, from ``cpuid -r -1``; page sizes in bytes.

    ``ways`` is None if unknown; ``fully`` means fully associative; ``core_type`` is the
    kind of core of a hybrid processor. Raises MalformedSourceError.
    """
    leaves = parse_cpuid(output)
    maker = vendor(leaves)
    tlbs = list(_intel(leaves) if maker == "GenuineIntel" else _amd(leaves))
    if not tlbs:
        raise MalformedSourceError(
            f"CPUID of this {maker} processor describes no TLB, as in some virtual "
            "machines; nothing to fix there"
        )
    return {"core_type": core_type(leaves), "tlbs": tlbs}


def parse_tlb_size(text: str) -> CoreTlbFacts | None:
    """Parse AMD's TLB in /proc/cpuinfo; None without one.

    Linux adds up the entries of the second-level data and instruction TLBs.
    """
    found = _SIZE_IN_CPUINFO.search(text)
    if found is None or not int(found[1]):
        return None
    return {"core_type": None, "tlbs": [_tlb(2, None, [4 * _KIB], int(found[1]))]}


def _tlb(
    level: int,
    type_: str | None,
    pages: list[int],
    entries: int,
    ways: int | None = None,
) -> TlbFacts:
    if ways and ways > entries:  # as some hypervisors report it
        ways = None
    fully = ways == entries
    return {
        "level": level,
        "type": type_,
        "page_sizes": pages,
        "entries": entries,
        "ways": None if fully else ways,
        "fully": fully,
    }


def _intel(leaves: Leaves) -> Iterator[TlbFacts]:
    described = list(_leaf_18(leaves))
    if described:
        yield from described
        return
    for code in _descriptors(leaves.get((2, 0), NOTHING)):
        for level, type_, pages, entries, ways in DESCRIPTORS.get(code, ()):
            yield _tlb(level, type_, list(pages), entries, ways)


def _descriptors(registers: Registers) -> Iterator[int]:
    """The bytes of valid registers; the lowest byte of EAX is not a descriptor."""
    for place, register in enumerate(registers):
        if not register >> 31:
            codes = register.to_bytes(4, "little")[1 if place == 0 else 0 :]
            yield from (code for code in codes if code and code != LEAF_18)


def _leaf_18(leaves: Leaves) -> Iterator[TlbFacts]:
    last = min(leaves.get((0x18, 0), NOTHING).eax, _MOST_SUBLEAVES)
    for number in range(last + 1):
        one = leaves.get((0x18, number), NOTHING)
        type_ = _TYPES_18.get(one.edx & 0x1F)
        ways, sets = one.ebx >> 16, one.ecx
        pages = [size for bit, size in enumerate(_SIZES_18) if one.ebx >> bit & 1]
        if type_ and ways and sets and pages:
            entries = ways * sets
            fully = bool(one.edx >> 8 & 1)
            level = one.edx >> 5 & 7
            yield _tlb(level, type_, pages, entries, entries if fully else ways)


def _amd(leaves: Leaves) -> Iterator[TlbFacts]:
    first = leaves.get((0x80000005, 0), NOTHING)
    for register, page in ((first.eax, 2 * _MIB), (first.ebx, 4 * _KIB)):
        for type_, half in (("instruction", register), ("data", register >> 16)):
            entries, ways = half & 0xFF, half >> 8 & 0xFF
            if entries and ways:
                ways = entries if ways == _AMD_FULLY_8 else ways
                yield _tlb(1, type_, [page], entries, ways)
    second = leaves.get((0x80000006, 0), NOTHING)
    for register, page in ((second.eax, 2 * _MIB), (second.ebx, 4 * _KIB)):
        # Without a data TLB, the other one is unified.
        lower = "instruction" if register >> 16 else "unified"
        yield from _amd_pair(2, lower, page, register)
    large = leaves.get((0x80000019, 0), NOTHING)
    yield from _amd_pair(1, "instruction", _GIB, large.eax)
    yield from _amd_pair(2, "instruction", _GIB, large.ebx)


def _amd_pair(level: int, lower: str, page: int, register: int) -> Iterator[TlbFacts]:
    """A data TLB in the upper half, another TLB in the lower one."""
    for type_, half in ((lower, register & 0xFFFF), ("data", register >> 16)):
        code, entries = half >> 12, half & 0xFFF
        if code and entries:
            ways = entries if code == _AMD_FULLY_4 else _AMD_WAYS.get(code)
            yield _tlb(level, type_, [page], entries, ways)
