"""CPUID registers in the output format of ``cpuid -r -1``.

The collector writes the same format; it runs the instruction itself if the tool is not
installed.
"""

import re
from typing import NamedTuple

from ingest.errors import MalformedSourceError

_LINE = re.compile(
    r"^\s*0x([0-9a-fA-F]{8}) 0x([0-9a-fA-F]{2,8}): eax=0x([0-9a-fA-F]{8}) "
    r"ebx=0x([0-9a-fA-F]{8}) ecx=0x([0-9a-fA-F]{8}) edx=0x([0-9a-fA-F]{8})\s*$"
)
_CPU = re.compile(r"^CPU( [0-9]+)?:")


class Registers(NamedTuple):
    """The register values of one leaf."""

    eax: int
    ebx: int
    ecx: int
    edx: int


Leaves = dict[tuple[int, int], Registers]
NOTHING = Registers(0, 0, 0, 0)


def parse_cpuid(output: bytes) -> Leaves:
    """Parse the first CPU by leaf and subleaf; raises MalformedSourceError."""
    leaves: Leaves = {}
    for line in output.decode(errors="replace").splitlines():
        if _CPU.match(line) and leaves:
            break
        if found := _LINE.match(line):
            leaf, subleaf, *registers = (int(text, 16) for text in found.groups())
            leaves[leaf, subleaf] = Registers(*registers)
    if (0, 0) not in leaves:
        raise MalformedSourceError(
            "cpuid printed no registers of leaf 0: run `cpuid -r -1` by hand"
        )
    return leaves


def vendor(leaves: Leaves) -> str:
    """``GenuineIntel``, ``AuthenticAMD``: twelve letters in three registers."""
    first = leaves[0, 0]
    order = (first.ebx, first.edx, first.ecx)
    letters = b"".join(register.to_bytes(4, "little") for register in order)
    return letters.decode("ascii", errors="replace")


def core_type(leaves: Leaves) -> str | None:
    """The kind of core that answered on a hybrid processor; None if all are alike.

    Leaf 7 says whether a processor is hybrid (EDX bit 15), leaf 1AH the kind of this
    core (Intel SDM, volume 2A, CPUID).
    """
    if not leaves.get((7, 0), NOTHING).edx >> 15 & 1:
        return None
    kind = leaves.get((0x1A, 0), NOTHING).eax >> 24
    return {0x20: "Atom", 0x40: "Core"}.get(kind)
