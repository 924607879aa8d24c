"""Which registers and memory an x86-64 instruction reads and writes.

Instructions are in AT&T syntax: the last operand is the destination. What is not known
to differ reads and writes its destination, so a chain may come out too long.
"""

import re
from collections.abc import Set
from dataclasses import dataclass
from enum import IntEnum

FLAGS = "flags"
_PREFIXES = {
    "lock",
    "rep",
    "repe",
    "repne",
    "repz",
    "repnz",
    "notrack",
    "bnd",
    "data16",
}
_MEMORY = re.compile(r"[^,\s()]*\([^)]*\)")
_REGISTER = re.compile(r"%(\w+)")
_SEPARATOR = re.compile(r",(?![^()]*\))")
_LETTER = re.compile(r"[re]?([abcd]x|[sd]i|[sb]p)|([abcd])[lh]|([sd]i|[sb]p)l")
_NUMBERED = re.compile(r"(r\d+)[bwd]?|[xyz]mm(\d+)|(k\d)|(st)")
_MASK = re.compile(r"\{%(k\d)\}")
_ONE_MASK = re.compile(r"\{%k\d\}(?!.*\{z\})")

# No destination.
_READS_ONLY = re.compile(
    r"cmp[bwlq]?$|test[bwlq]?$|v?u?comis|v?ptest|vtestp|bt[wlq]?$|push|j|call|ret|nop"
    r"|prefetch|out|loop|k(or)?test|[lms]fence|pause|endbr|clflush"
)
# The destination is only written.
_WRITES_ONLY = re.compile(
    r"mov(?!h|l[hp])|lea|set|pop[wlq]?$|cvt(?!si2s|ss2sd|sd2ss)|pshuf[dlh]|pabs|pextr"
    r"|sqrtp|rcpp|rsqrtp|roundp|lddqu|[lt]zcnt|popcnt|rorx|sarx|sh[lr]x|andn[lq]?$|bextr"
    r"|bls|pdep|pext|kmov|in[bwl]?$"
    r"|v(?!f[n]?m(add|sub)|perm[it]2|pternlog|pdp|gather|pgather|movntd)"
)
_MERGES = {"movss", "movsd", "movhps", "movhpd", "movlps", "movlpd"}
# Whatever the register contains, the result of these is the same.
_CONSTANT = re.compile(
    r"xor|pxor|v?xorp|vpxor|sub[bwlq]?$|v?psub|v?pcmpeq|v?pcmpgt|kxor"
)
_SETS_FLAGS = re.compile(
    r"(add|sub|inc|dec|neg|and|andn|or|xor|adc|sbb|sh[lr]d?|sa[lr]|ro[lr]|rc[lr]|i?mul"
    r"|cmp|test|bt[csr]?|popcnt|[lt]zcnt|bs[fr]|bls\w+|bextr|xadd|cmpxchg)[bwlq]?$"
    r"|v?u?comis|v?ptest|vtestp|k(or)?test"
)
_READS_FLAGS = re.compile(r"j(?!mp|[er]?cxz)|set|cmov|adc|sbb|rc[lr]")
# Implied operands: read, written.
_IMPLIED: dict[str, tuple[Set[str], Set[str]]] = {
    "cltq": ({"ax"}, {"ax"}),
    "cwtl": ({"ax"}, {"ax"}),
    "cqto": ({"ax"}, {"dx"}),
    "cltd": ({"ax"}, {"dx"}),
}
_WIDE = re.compile(r"(i?mul|i?div)[bwlq]?$")


# Of one floating-point value; packed integers begin with p.
_SCALAR = re.compile(r"(?!v?p)\w*s[sd]$")


class OperandKind(IntEnum):
    """The kinds of operands that take different times to load."""

    INTEGER = 0
    SCALAR = 1
    XMM = 2
    WIDER = 3


@dataclass(frozen=True)
class Instruction:
    """The names that an instruction reads and writes.

    ``address`` are the registers of memory operands. Names are those of the 64-bit or
    widest registers without their first letters, `flags`, and texts of memory operands.
    """

    reads: frozenset[str]
    writes: frozenset[str]
    address: frozenset[str]
    kind: OperandKind


def parse_instruction(text: str) -> Instruction:
    """Return what an instruction reads and writes."""
    name, operands = _words(text)
    address = frozenset(_name(r) for part in operands for r in _address(part))
    sources, target = operands[:-1], operands[-1:]
    reads = {one for part in sources for one in _values(part)}
    masks = {_name(one) for one in _MASK.findall(text)}
    writes: set[str] = set()
    if _READS_ONLY.match(name):
        reads |= {one for part in target for one in _values(part)}
    else:
        writes = {one for part in target for one in _values(part)}
        reads |= set() if _only_writes(name, operands) else writes
    reads, writes = _with_implied(name, operands, reads | masks, writes)
    if name.startswith("lea"):
        reads, address = {*address}, frozenset()
    return Instruction(
        frozenset(reads), frozenset(writes), address, _kind(name, operands)
    )


def _kind(name: str, operands: list[str]) -> OperandKind:
    registers = " ".join(_REGISTER.findall(" ".join(operands)))
    if "mm" not in registers:
        return OperandKind.INTEGER
    if _SCALAR.match(name):
        return OperandKind.SCALAR
    is_wide = "ymm" in registers or "zmm" in registers
    return OperandKind.WIDER if is_wide else OperandKind.XMM


def _words(text: str) -> tuple[str, list[str]]:
    """Split an instruction into its name and operands."""
    name, _, rest = text.strip().partition(" ")
    while name in _PREFIXES:
        name, _, rest = rest.strip().partition(" ")
    return name, [one.strip() for one in _SEPARATOR.split(rest) if one.strip()]


def _only_writes(name: str, operands: list[str]) -> bool:
    """Whether the destination is not read."""
    if _ONE_MASK.search(" ".join(operands)):
        return False
    registers = {_REGISTER.sub(r"\1", one) for one in operands if one.startswith("%")}
    if _CONSTANT.match(name) and len(operands) > 1:
        same = operands[0] == operands[1] and len(registers) <= len(operands) - 1
        if same:
            return True
    if name in _MERGES:
        return (
            len(operands) == 2
            and not name.startswith(("movh", "movl"))
            and any(  # noqa: PLR2004
                "(" in one for one in operands
            )
        )
    is_three = name.startswith("imul") and len(operands) == 3  # noqa: PLR2004
    return is_three or bool(_WRITES_ONLY.match(name))


def _with_implied(
    name: str, operands: list[str], reads: set[str], writes: set[str]
) -> tuple[set[str], set[str]]:
    """Add flags and implied registers; a register minus itself reads nothing."""
    if _CONSTANT.match(name) and len(operands) > 1 and operands[0] == operands[1]:
        reads = set()
    more = _IMPLIED.get(name, (set(), set()))
    if _WIDE.match(name) and len(operands) == 1:
        more = ({"ax", "dx"} if "div" in name else {"ax"}, {"ax", "dx"})
        reads, writes = reads | writes, set()
    reads, writes = reads | more[0], writes | more[1]
    if name.startswith(("xchg", "xadd", "cmpxchg")):
        reads, writes = reads | writes, reads | writes
    if _READS_FLAGS.match(name):
        reads.add(FLAGS)
    if _SETS_FLAGS.match(name):
        writes.add(FLAGS)
    return reads, writes


def _values(operand: str) -> set[str]:
    """Return what an operand names: a register or a place in memory."""
    if memory := _MEMORY.search(operand):
        return {memory.group()}
    return {_name(r) for r in _REGISTER.findall(operand.partition("{")[0])}


def _address(operand: str) -> list[str]:
    memory = _MEMORY.search(operand)
    return _REGISTER.findall(memory.group()) if memory else []


def _name(register: str) -> str:
    """Return the name that all parts of a register have in common."""
    if found := _LETTER.fullmatch(register):
        whole, half, low = found.groups()
        return whole or low or f"{half}x"
    if found := _NUMBERED.fullmatch(register):
        general, vector, mask, stack = found.groups()
        return general or (f"v{vector}" if vector else mask or stack)
    return register
