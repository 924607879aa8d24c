"""The parameters of a function, as DWARF describes them."""

from collections.abc import Iterator
from typing import Any

from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from sampling.probes.arguments import MOST, Form, passed_form
from sampling.probes.errors import ProbeArgumentError

_SAME = {"typedef", "const_type", "volatile_type", "restrict_type", "atomic_type"}
_ADDRESSES = {"pointer_type", "reference_type", "rvalue_reference_type"}
_WITH_SIGN = {5, 6, 13}  # DW_ATE_signed, signed_char and signed_fixed
_WITHOUT_SIGN = {1, 2, 7, 8, 16}  # address, boolean, unsigned, unsigned_char and UTF
_WIDEST = 8


def typed_form(elf: ELFFile, addresses: set[int], name: str, number: int) -> Form:
    """How to read the integer argument ``number``, from 1, of a function with DWARF.

    Raises ProbeArgumentError, and LookupError if DWARF does not describe the function.
    """
    function = next(_described(elf, addresses))
    parameters = [
        one for one in function.iter_children() if one.tag == "DW_TAG_formal_parameter"
    ]
    if number > len(parameters):
        raise ProbeArgumentError(
            f"{name} has {len(parameters)} arguments: there is no argument {number}"
        )
    if elf.get_machine_arch() == "x64" and _is_in_memory(_type(function)):
        raise ProbeArgumentError(
            f"{name} returns a structure, so its arguments are in other registers: "
            "choose another function"
        )
    *before, size = (_size(_type(one), name) for one in parameters[:number])
    if not size or abs(size) > _WIDEST:
        raise ProbeArgumentError(
            f"argument {number} of {name} is not an integer: choose another"
        )
    place = sum(1 if abs(one) <= _WIDEST else 2 for one in before if one)
    if place >= MOST:
        raise ProbeArgumentError(
            f"argument {number} of {name} is not in a register: choose another"
        )
    if _is_address(_type(parameters[number - 1])):
        raise ProbeArgumentError(
            f"argument {number} of {name} is a pointer: choose an integer"
        )
    return passed_form(elf.get_machine_arch(), place, size)


def untyped_form(machine: str, name: str, number: int) -> Form:
    """The integer argument of a function without DWARF: a whole register."""
    if number > MOST:
        raise ProbeArgumentError(
            f"argument {number} of {name} is not in a register: choose another"
        )
    return passed_form(machine, number - 1, -_WIDEST)


def _described(elf: ELFFile, addresses: set[int]) -> Iterator[DIE]:
    for unit in elf.get_dwarf_info().iter_CUs():
        for die in unit.iter_DIEs():
            low: Any = die.attributes.get("DW_AT_low_pc")
            is_function = die.tag == "DW_TAG_subprogram" and low is not None
            if is_function and low.value in addresses:
                yield die
    raise LookupError("not described")


def _type(die: DIE) -> DIE | None:
    """The type of a parameter or function, without names and qualifiers."""
    for origin in ("DW_AT_abstract_origin", "DW_AT_specification"):
        if "DW_AT_type" not in die.attributes and origin in die.attributes:
            return _type(die.get_DIE_from_attribute(origin))
    if "DW_AT_type" not in die.attributes:
        return None
    found = die.get_DIE_from_attribute("DW_AT_type")
    return _type(found) if _kind(found) in _SAME else found


def _kind(die: DIE | None) -> str:
    return str(die.tag).removeprefix("DW_TAG_") if die else ""


def _is_address(type_: DIE | None) -> bool:
    return _kind(type_) in _ADDRESSES


def _is_in_memory(type_: DIE | None) -> bool:
    return _kind(type_) in {"structure_type", "class_type", "union_type", "array_type"}


def _size(type_: DIE | None, name: str) -> int:
    """Bytes of an integer, negative with a sign; 0 for a floating-point number."""
    if _is_address(type_):
        return _WIDEST
    kind = _kind(type_)
    if type_ is None or kind not in ("base_type", "enumeration_type"):
        raise ProbeArgumentError(
            f"{name} has an argument that is a structure, up to the one that is asked "
            "for: their registers are unknown"
        )
    size = int(type_.attributes["DW_AT_byte_size"].value)
    if kind == "enumeration_type":
        return -size
    encoding = type_.attributes["DW_AT_encoding"].value
    if encoding in _WITH_SIGN:
        return -size
    return size if encoding in _WITHOUT_SIGN else 0
