"""What a binary offers to probes: its build id, functions, inlined copies and USDT."""

import os
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

from sampling.probes.arguments import Form, usdt_form
from sampling.probes.definition import Place, Target
from sampling.probes.errors import ProbeArgumentError, ProbeTargetError
from sampling.probes.parameters import typed_form, untyped_form

Functions = dict[str, tuple[set[str], set[int]]]

# A file of this size or more is read for its symbols, not for its DWARF: that takes
# minutes.
_MOST_DWARF = 32 << 20
_MOST_NAMES = 3
# pyelftools trusts numbers in a file: it raises all of these for a damaged one.
_DAMAGE = (
    *(ELFError, DWARFError, struct.error, ArithmeticError, AssertionError),
    *(AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError),
)
_INLINED = (1, 3)  # DW_INL_inlined, DW_INL_declared_inlined


@dataclass(frozen=True)
class Binary:
    """What was found of a target: where it is, and whether some calls are inlined.

    ``untyped``: the type of the argument is unknown.
    """

    build_id: str
    places: tuple[Place, ...]
    partly_inlined: bool = False
    untyped: bool = False


def find_target(target: Target, argument: int = 0) -> Binary:
    """Check a function or USDT probe, and maybe an argument, against its binary.

    Raises ProbeTargetError and ProbeArgumentError.
    """
    with _opened(target.binary) as elf:
        if target.kind == "usdt":
            return Binary(_build_id(elf), _usdt_places(elf, target, argument))
        return _function(elf, target, argument)


def read_build_id(path: str) -> str:
    """The GNU build id of a binary, or empty; raises ProbeTargetError."""
    with _opened(path) as elf:
        return _build_id(elf)


def identity_of(path: str) -> str:
    """The build id; without one, inode, size and time of the file.

    Raises ProbeTargetError.
    """
    found = read_build_id(path)
    if found:
        return found
    state = Path(path).stat()
    return f"file-{state.st_ino}-{state.st_size}-{state.st_mtime_ns}"


@contextmanager
def _opened(path: str) -> Iterator[ELFFile]:
    """The binary; a file that is not one, or is damaged, is named."""
    try:
        # Opening a pipe would wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            yield ELFFile(file)
    except OSError as error:
        why = error.strerror or "it is not a file"  # a pipe
        raise ProbeTargetError(f"{path}: {why}: name a binary") from error
    except _DAMAGE as error:
        raise ProbeTargetError(
            f"{path} is not an ELF binary, or is damaged ({error}): name another"
        ) from error


def _build_id(elf: ELFFile) -> str:
    section = elf.get_section_by_name(".note.gnu.build-id")
    if not isinstance(section, NoteSection):
        return ""
    for note in section.iter_notes():
        if note["n_type"] == "NT_GNU_BUILD_ID":
            return str(note["n_desc"])
    return ""


def _offset(elf: ELFFile, address: int) -> int:
    for segment in elf.iter_segments("PT_LOAD"):
        start = segment["p_vaddr"]
        if start <= address < start + segment["p_memsz"]:
            return int(address - start + segment["p_offset"])
    raise ProbeTargetError(
        f"address {address:#x} is not in a loaded part of the binary"
    )


# ---- functions ----------------------------------------------------------------------


def _function(elf: ELFFile, target: Target, argument: int) -> Binary:
    known = _functions(elf)
    inlined = _is_inlined(elf, target.name)
    if target.name not in known:
        raise ProbeTargetError(_absence(elf, target, known, inlined))
    kinds, addresses = known[target.name]
    if "STT_LOOS" in kinds:  # STT_GNU_IFUNC
        raise ProbeTargetError(
            f"{target.name} only chooses a function when {target.binary} is loaded: "
            "probe the one it chooses"
        )
    form, untyped = _argument(elf, addresses, target.name, argument)
    offsets = sorted({_offset(elf, address) for address in addresses})
    places = tuple(Place(offset, form=form) for offset in offsets)
    return Binary(_build_id(elf), places, inlined, untyped)


def _argument(
    elf: ELFFile, addresses: set[int], name: str, number: int
) -> tuple[Form | None, bool]:
    """How to read an argument of a function, and whether its type is unknown."""
    if not number:
        return None, False
    if "." in name:  # GCC's clones, such as name.isra.0
        raise ProbeArgumentError(
            f"the compiler changed the arguments of {name}: choose another function"
        )
    if _has_dwarf(elf):
        try:
            return typed_form(elf, addresses, name, number), False
        except LookupError:
            pass  # this part of the program was compiled without -g
    return untyped_form(elf.get_machine_arch(), name, number), True


def _functions(elf: ELFFile) -> Functions:
    """Kinds and addresses of all functions that have code here."""
    found: Functions = {}
    for section in elf.iter_sections():
        if not isinstance(section, SymbolTableSection):
            continue
        for symbol in section.iter_symbols():
            kind = symbol["st_info"]["type"]
            if kind in ("STT_FUNC", "STT_LOOS") and symbol["st_shndx"] != "SHN_UNDEF":
                name = symbol.name.partition("@")[0]
                kinds, addresses = found.setdefault(name, (set(), set()))
                kinds.add(kind)
                addresses.add(symbol["st_value"])
    return found


def _absence(elf: ELFFile, target: Target, known: Functions, inlined: bool) -> str:
    if inlined:
        return (
            f"{target.name} of {target.binary} was inlined into its callers, so it has "
            "no entry: probe a caller, or compile it with __attribute__((noinline))"
        )
    near = get_close_matches(target.name, known, _MOST_NAMES)
    is_it = f": is it {' or '.join(near)}?" if near else ""
    if not is_it and elf.get_section_by_name(".symtab") is None:
        is_it = ", which is stripped: install its symbols, or use an exported function"
    return f"no function {target.name!r} in {target.binary}{is_it or ': name another'}"


def _is_inlined(elf: ELFFile, name: str) -> bool:
    """Whether DWARF says that a function was inlined somewhere."""
    if not _has_dwarf(elf):
        return False
    encoded = name.encode()
    return any(
        _is_inlined_function(die, encoded)
        for unit in elf.get_dwarf_info().iter_CUs()
        for die in unit.iter_DIEs()
    )


def _has_dwarf(elf: ELFFile) -> bool:
    section = elf.get_section_by_name(".debug_info")
    return section is not None and section.data_size <= _MOST_DWARF


def _is_inlined_function(die: DIE, name: bytes) -> bool:
    if die.tag != "DW_TAG_subprogram":
        return False
    attributes: Any = die.attributes
    inline = attributes.get("DW_AT_inline")
    if inline is None or inline.value not in _INLINED:
        return False
    names = (attributes.get(key) for key in ("DW_AT_name", "DW_AT_linkage_name"))
    return any(one is not None and one.value == name for one in names)


# ---- USDT ---------------------------------------------------------------------------


def _usdt_places(elf: ELFFile, target: Target, argument: int) -> tuple[Place, ...]:
    known = list(_usdt(elf))
    places = [
        replace(place, form=_usdt_argument(elf, target, arguments, argument))
        for group, name, arguments, place in known
        if (group, name) == (target.group, target.name)
    ]
    if places:
        return tuple(places)
    names = sorted({f"{group}:{name}" for group, name, *_ in known})
    near = get_close_matches(f"{target.group}:{target.name}", names, _MOST_NAMES)
    has = (
        f"it has {', '.join((near or names)[:_MOST_NAMES])}" if names else "it has none"
    )
    wanted = f"{target.group}:{target.name}"
    raise ProbeTargetError(f"no USDT probe {wanted} in {target.binary}: {has}")


def _usdt_argument(
    elf: ELFFile, target: Target, arguments: list[str], number: int
) -> Form | None:
    if not number:
        return None
    if number > len(arguments):
        raise ProbeArgumentError(
            f"{target} has {len(arguments)} arguments: there is no argument {number}"
        )
    return usdt_form(elf.get_machine_arch(), arguments[number - 1])


def _usdt(elf: ELFFile) -> Iterator[tuple[str, str, list[str], Place]]:
    """Provider, name, arguments and place of each USDT probe, from its notes."""
    section = elf.get_section_by_name(".note.stapsdt")
    base = elf.get_section_by_name(".stapsdt.base")
    if not isinstance(section, NoteSection):
        return
    order = "<" if elf.little_endian else ">"
    layout = struct.Struct(order + ("3Q" if elf.elfclass == 64 else "3I"))
    for note in section.iter_notes():
        content = note["n_descdata"]
        address, linked, semaphore = layout.unpack_from(content)
        group, name, arguments = content[layout.size :].split(b"\0")[:3]
        moved = base["sh_addr"] - linked if base is not None and linked else 0
        counted = _offset(elf, semaphore + moved) if semaphore else 0
        place = Place(_offset(elf, address + moved), counted)
        # The address [x0, 8] of aarch64 has a space.
        words = re.findall(r"-?\d\S*@(?:\[[^]]*\]|\S+)", arguments.decode())
        yield group.decode(), name.decode(), words, place
