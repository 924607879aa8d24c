"""Where an argument is when its probe is hit, as the kernel's part reads it."""

import re
from dataclasses import dataclass

from sampling.probes.errors import ProbeArgumentError

CONTEXT, CONSTANT, MEMORY = 1, 2, 3  # as in probes.h
WIDTHS = (1, 2, 4, 8)
MOST = 6  # arguments of a function that are in registers

# Where the kernel keeps registers (struct pt_regs of x86-64, user_pt_regs of aarch64).
_X86 = {
    **{"r15": 0, "r14": 8, "r13": 16, "r12": 24, "bp": 32, "bx": 40, "r11": 48},
    **{"r10": 56, "r9": 64, "r8": 72, "ax": 80, "cx": 88, "dx": 96, "si": 104},
    **{"di": 112, "sp": 152},
}
_ARM = {**{f"x{n}": 8 * n for n in range(31)}, "sp": 248}
_PASSED = {
    "x64": ("di", "si", "dx", "cx", "r8", "r9"),
    "AArch64": ("x0", "x1", "x2", "x3", "x4", "x5"),
}
_REGISTERS = {"x64": _X86, "AArch64": _ARM}

_SIZED = re.compile(r"(-?\d+)@(.+)")
_NUMBER = r"[-+]?(?:0x[0-9a-fA-F]+|\d+)"
_X86_MEMORY = re.compile(
    rf"(?P<add>{_NUMBER})?\(%(?P<base>\w+)(?:,%(?P<index>\w+)(?:,(?P<scale>[1248]))?)?\)"
)
_ARM_MEMORY = re.compile(
    rf"\[(?P<base>\w+)(?:, ?(?:#?(?P<add>{_NUMBER})|(?P<index>x\d+)"
    r"(?:, ?lsl #?(?P<shift>[0-3]))?))?\]"
)


@dataclass(frozen=True)
class Form:
    """How to read an argument.

    ``base`` and ``index`` are bytes from the start of what a program of the kernel
    gets: the registers, or the record of an event. ``size`` is in bytes, and negative
    for a number with a sign; ``scale`` is 0 without an index.
    """

    where: int
    size: int
    base: int = 0
    displacement: int = 0
    index: int = 0
    scale: int = 0

    def words(self) -> tuple[int, ...]:
        """The numbers that the program that attaches probes takes."""
        address = (self.base, self.displacement, self.index, self.scale)
        return (self.where, *address, self.size)


def passed_form(machine: str, place: int, size: int) -> Form:
    """The integer argument that a function gets in register ``place``, from 0."""
    return Form(CONTEXT, size, _registers(machine)[_PASSED[machine][place]])


def usdt_form(machine: str, text: str) -> Form:
    """Read an argument of a USDT probe's note, such as ``-4@-20(%rbp)``.

    Raises ProbeArgumentError for what is not an integer in a register, in memory that
    registers point to, or constant.
    """
    sized = _SIZED.fullmatch(text)
    if not sized or abs(int(sized[1])) not in WIDTHS:
        raise ProbeArgumentError(f"{text[:80]!r} is not an integer: choose another")
    size, place = int(sized[1]), sized[2]
    registers = _registers(machine)
    try:
        found = (_x86 if machine == "x64" else _arm)(registers, size, place)
    except KeyError:  # a vector register, or one that no argument should be in
        found = None
    if found is None:
        raise ProbeArgumentError(
            f"an argument in {place[:80]!r} cannot be read: it must be in a register, "
            "in memory that one points to, or constant"
        )
    return found


def _registers(machine: str) -> dict[str, int]:
    if machine not in _REGISTERS:
        raise ProbeArgumentError(
            f"arguments can be read on x86-64 and aarch64, not on {machine}: count "
            "calls without --argument"
        )
    return _REGISTERS[machine]


def _number(text: str | None) -> int:
    """GCC writes decimal numbers; a leading 0 of Clang's does not make them octal."""
    if not text:
        return 0
    return int(text, 16) if "0x" in text else int(text)


def _x86(registers: dict[str, int], size: int, place: str) -> Form | None:
    if re.fullmatch(rf"\${_NUMBER}", place):
        return Form(CONSTANT, size, displacement=_number(place[1:]))
    if place.startswith("%"):
        name, start = _x86_name(place[1:])
        return Form(CONTEXT, size, registers[name] + start)
    found = _X86_MEMORY.fullmatch(place)
    if not found:
        return None
    base, index = registers[_whole(found["base"])], 0
    if found["index"]:
        index = registers[_whole(found["index"])]
    scale = int(found["scale"] or 1) if found["index"] else 0
    return Form(MEMORY, size, base, _number(found["add"]), index, scale)


def _x86_name(name: str) -> tuple[str, int]:
    """The register that a name is a part of, and where in it (bytes): ``ah`` is 1."""
    if re.fullmatch(r"[a-d]h", name):
        return f"{name[0]}x", 1
    if re.fullmatch(r"[a-d]l", name):
        return f"{name[0]}x", 0
    if re.fullmatch(r"(si|di|bp|sp)l", name):
        return name[:2], 0
    if re.fullmatch(r"r\d+[bwd]", name):
        return name[:-1], 0
    if re.fullmatch(r"[re]?(ax|bx|cx|dx|si|di|bp|sp)", name):
        return name[-2:], 0
    return name, 0


def _whole(name: str) -> str:
    """The register of an address, which has 64 bits."""
    if not re.fullmatch(r"r(\d+|[a-ds][xpi]|bp|di)", name):
        raise KeyError(name)
    return _x86_name(name)[0]


def _arm(registers: dict[str, int], size: int, place: str) -> Form | None:
    if re.fullmatch(rf"#?{_NUMBER}", place):
        return Form(CONSTANT, size, displacement=_number(place.removeprefix("#")))
    if re.fullmatch(r"[xw]\d+|sp", place):
        return Form(CONTEXT, size, registers[place.replace("w", "x")])
    found = _ARM_MEMORY.fullmatch(place)
    if not found:
        return None
    index = registers[found["index"]] if found["index"] else 0
    scale = 1 << int(found["shift"] or 0) if found["index"] else 0
    base = registers[found["base"]]
    return Form(MEMORY, size, base, _number(found["add"]), index, scale)
