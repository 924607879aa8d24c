"""PMUs of this machine and all their events, from libpfm4."""

import ctypes
from collections.abc import Iterator
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, sizeof
from functools import partial
from threading import Lock
from typing import Any

from ingest.errors import SourceMissingError, SourceRefusedError

_LIBRARY = "libpfm.so.4"
_TYPES = {1: "core", 2: "uncore", 3: "os"}
_UMASK = 1
_SUCCESS = 0
# Only the library knows how many PMU models it has; more are not expected for long.
_MOST_PMUS = 4096
_INVALID = -2
# The library keeps its state in globals.
_LOCK = Lock()


class _PmuInfo(ctypes.Structure):
    _fields_ = (
        ("name", c_char_p),
        ("desc", c_char_p),
        ("size", c_size_t),
        ("pmu", c_int),
        ("type", c_int),
        ("nevents", c_int),
        ("first_event", c_int),
        ("max_encoding", c_int),
        ("num_cntrs", c_int),
        ("num_fixed_cntrs", c_int),
        ("is_present", c_uint, 1),
        ("is_default", c_uint, 1),
        ("reserved", c_uint, 30),
    )


class _EventInfo(ctypes.Structure):
    _fields_ = (
        ("name", c_char_p),
        ("desc", c_char_p),
        ("equiv", c_char_p),
        ("size", c_size_t),
        ("code", c_uint64),
        ("pmu", c_int),
        ("dtype", c_int),
        ("idx", c_int),
        ("nattrs", c_int),
        ("reserved", c_int),
        ("flags", c_uint),
    )


class _AttributeInfo(ctypes.Structure):
    _fields_ = (
        ("name", c_char_p),
        ("desc", c_char_p),
        ("equiv", c_char_p),
        ("size", c_size_t),
        ("code", c_uint64),
        ("type", c_int),
        ("idx", c_int),
        ("ctrl", c_int),
        ("flags", c_uint),
        ("default", c_uint64),
    )


def read_pfm(library: str = _LIBRARY) -> dict[str, Any]:
    """Every PMU present here with its events and their unit masks.

    Codes are the library's raw ones, in hexadecimal. Raises SourceMissingError and
    SourceRefusedError.
    """
    with _LOCK:
        pfm = _load(library)
        return {"pmus": [_pmu(pfm, info) for info in _present(pfm)]}


def _load(library: str) -> ctypes.CDLL:
    try:
        pfm = ctypes.CDLL(library)
    except OSError:
        raise SourceMissingError(
            f"{library} is not installed: apt-get install libpfm4"
        ) from None
    pfm.pfm_get_pmu_info.argtypes = (c_int, POINTER(_PmuInfo))
    pfm.pfm_get_event_info.argtypes = (c_int, c_int, POINTER(_EventInfo))
    pfm.pfm_get_event_attr_info.argtypes = (
        c_int,
        c_int,
        c_int,
        POINTER(_AttributeInfo),
    )
    pfm.pfm_strerror.restype = c_char_p
    status = pfm.pfm_initialize()
    if status != _SUCCESS:
        reason = pfm.pfm_strerror(status).decode(errors="replace")
        raise SourceRefusedError(
            f"{library} finds no PMU that it knows ({reason}): a newer libpfm4 may"
        )
    return pfm


def _present(pfm: ctypes.CDLL) -> Iterator[_PmuInfo]:
    for number in range(_MOST_PMUS):
        info = _PmuInfo(size=sizeof(_PmuInfo))
        status = pfm.pfm_get_pmu_info(number, byref(info))
        if status == _INVALID:
            return
        if status == _SUCCESS and info.is_present:
            yield info


def _pmu(pfm: ctypes.CDLL, info: _PmuInfo) -> dict[str, Any]:
    return {
        "name": _text(info.name),
        "description": _text(info.desc),
        "type": _TYPES.get(info.type, "unknown"),
        "counters": max(0, info.num_cntrs),
        "fixed_counters": max(0, info.num_fixed_cntrs),
        "events": list(_events(pfm, info)),
    }


def _events(pfm: ctypes.CDLL, pmu: _PmuInfo) -> Iterator[dict[str, Any]]:
    index = pmu.first_event
    while index >= 0:
        event = _EventInfo(size=sizeof(_EventInfo))
        if pfm.pfm_get_event_info(index, 0, byref(event)) == _SUCCESS:
            masks = map(partial(_umask, pfm, index), range(event.nattrs))
            yield {**_named(event), "umasks": [mask for mask in masks if mask]}
        index = pfm.pfm_get_event_next(index)


def _umask(pfm: ctypes.CDLL, event: int, number: int) -> dict[str, Any] | None:
    attribute = _AttributeInfo(size=sizeof(_AttributeInfo))
    status = pfm.pfm_get_event_attr_info(event, number, 0, byref(attribute))
    # The other attributes are modifiers, such as "count user mode only".
    mask = status == _SUCCESS and attribute.type == _UMASK
    return _named(attribute) if mask else None


def _named(info: _EventInfo | _AttributeInfo) -> dict[str, Any]:
    return {
        "name": _text(info.name),
        "description": _text(info.desc),
        "code": f"{info.code:#x}",
    }


def _text(text: bytes | None) -> str:
    return " ".join((text or b"").decode(errors="replace").split())
