"""CPUID executed by the collector itself, compared with the cpuid tool."""

import os

import pytest

from ingest.remote.collect import firmware, registers
from ingest.sources.cpuid import parse_cpuid
from ingest.sources.machine import HERE


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="CPUID is of x86")
def test_cpuid_instruction_matches_the_tool() -> None:
    """The two may run on different cores, whose TLB leaves are the same."""
    tool = parse_cpuid(HERE.tool("cpuid"))
    asked = parse_cpuid(registers())
    for leaf in ((0, 0), (2, 0), (0x80000005, 0), (0x80000006, 0)):
        assert asked[leaf] == tool[leaf]


def test_firmware_of_network_interfaces_is_json() -> None:
    assert firmware().startswith(b"{")
