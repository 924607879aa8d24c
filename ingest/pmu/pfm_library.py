"""libpfm4 through ctypes: its structures and calls.

The library keeps its state in globals and reads its environment when it initialises, so
only one reader at a time may use it.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, sizeof
from functools import cache
from pathlib import Path
from threading import Lock

from ingest.errors import SourceMissingError, SourceRefusedError

LIBRARY = "libpfm.so.4"
SUCCESS = 0
UMASK, MODIFIERS = 1, (2, 3)
# User and kernel mode, the privilege levels counted by default.
_LEVELS = 0x1 | 0x8
_INVALID = -2
# Only the library knows its number of PMU models; this upper limit is far above it.
_MOST_PMUS = 4096
_INACTIVE = b"LIBPFM_ENCODE_INACTIVE"
_LOCK = Lock()


class PmuInfo(ctypes.Structure):
    """``pfm_pmu_info_t``."""

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


class EventInfo(ctypes.Structure):
    """``pfm_event_info_t``."""

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


class AttributeInfo(ctypes.Structure):
    """``pfm_event_attr_info_t``."""

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


@contextmanager
def opened(library: str = LIBRARY, inactive: bool = False) -> Iterator["PfmLibrary"]:
    """Open libpfm4 for one reader; with `inactive` it also encodes for absent PMUs.

    Raises SourceMissingError and SourceRefusedError.
    """
    with _LOCK:
        pfm = _private_copy(library) if inactive else _load(library)
        _initialise(pfm, library)
        yield PfmLibrary(pfm)


def load_private_copy(library: str = LIBRARY) -> None:
    """Load the copy that encodes for absent PMUs, if the library exists.

    Call it before other threads start: a thread that reads the environment while it
    changes may crash the process.
    """
    with suppress(SourceMissingError, SourceRefusedError), _LOCK:
        _private_copy(library)


class PfmLibrary:
    """The calls of an opened library that the catalogue needs."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._pfm = library
        self._free = ctypes.CDLL(None).free
        self._free.argtypes = (ctypes.c_void_p,)

    def pmus(self) -> Iterator[PmuInfo]:
        """Yield every PMU model of the library, present on this machine or not."""
        for number in range(_MOST_PMUS):
            info = PmuInfo(size=sizeof(PmuInfo))
            status = self._pfm.pfm_get_pmu_info(number, byref(info))
            if status == _INVALID:
                return
            if status == SUCCESS:
                yield info

    def events(self, pmu: PmuInfo) -> Iterator[tuple[int, EventInfo]]:
        """Yield the events of a model, each with its index."""
        index = pmu.first_event
        while index >= 0:
            event = EventInfo(size=sizeof(EventInfo))
            if self._pfm.pfm_get_event_info(index, 0, byref(event)) == SUCCESS:
                yield index, event
            index = self._pfm.pfm_get_event_next(index)

    def attributes(self, index: int, event: EventInfo) -> Iterator[AttributeInfo]:
        """Yield the unit masks and modifiers of an event."""
        for number in range(event.nattrs):
            attribute = AttributeInfo(size=sizeof(AttributeInfo))
            status = self._pfm.pfm_get_event_attr_info(
                index, number, 0, byref(attribute)
            )
            if status == SUCCESS:
                yield attribute

    def encoding(self, event: str) -> list[int]:
        """The register values of ``PMU::EVENT:UMASK``; empty if it cannot be encoded.

        An event that needs a unit mask but has no default one cannot be encoded alone.
        """
        codes, count = POINTER(c_uint64)(), c_int()
        status = self._pfm.pfm_get_event_encoding(
            event.encode(), _LEVELS, None, None, byref(codes), byref(count)
        )
        found = codes[: count.value] if status == SUCCESS else []
        self._free(codes)
        return found


def _load(library: str) -> ctypes.CDLL:
    try:
        pfm = ctypes.CDLL(library)
    except OSError:
        raise SourceMissingError(
            f"{library} is not installed: apt-get install libpfm4"
        ) from None
    info, event = POINTER(PmuInfo), POINTER(EventInfo)
    attribute, codes = POINTER(AttributeInfo), POINTER(POINTER(c_uint64))
    pfm.pfm_get_pmu_info.argtypes = (c_int, info)
    pfm.pfm_get_event_info.argtypes = (c_int, c_int, event)
    pfm.pfm_get_event_attr_info.argtypes = (c_int, c_int, c_int, attribute)
    pfm.pfm_get_event_encoding.argtypes = (
        c_char_p,
        c_int,
        POINTER(c_char_p),
        POINTER(c_int),
        codes,
        POINTER(c_int),
    )
    pfm.pfm_strerror.restype = c_char_p
    return pfm


@cache
def _private_copy(library: str) -> ctypes.CDLL:
    """Load the library a second time, with its own globals.

    Once the library may encode for absent PMUs, this cannot be undone, so the copy
    shared by the rest of the process never gets the setting.
    """
    _load(library)
    path = _path(library)
    descriptor = os.memfd_create(library)
    try:
        os.write(descriptor, path.read_bytes())
        pfm = _load(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
    with _encodes_inactive():
        _initialise(pfm, library)
    return pfm


def _path(library: str) -> Path:
    """The file of a loaded library."""
    stem = library.partition(".so")[0]
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = Path(line.rpartition(" ")[2])
        if path.name.startswith(f"{stem}.so") and path.is_file():
            return path
    raise SourceRefusedError(
        f"{library} is loaded, but its file was removed: restart SuperTwin"
    )


def _initialise(pfm: ctypes.CDLL, library: str) -> None:
    status = pfm.pfm_initialize()
    if status != SUCCESS:
        reason = pfm.pfm_strerror(status).decode(errors="replace")
        raise SourceRefusedError(
            f"{library} supports no PMU of this machine ({reason}): install a newer "
            "libpfm4"
        )


@contextmanager
def _encodes_inactive() -> Iterator[None]:
    """Set the library's variable in the C environment while the block runs.

    It is not set in os.environ, so a program started at that time with a copy of
    os.environ does not inherit it.
    """
    libc = ctypes.CDLL(None)
    libc.getenv.restype = c_char_p
    before = libc.getenv(_INACTIVE)
    if before is None:
        libc.setenv(_INACTIVE, b"1", 1)
    try:
        yield
    finally:
        if before is None:
            libc.unsetenv(_INACTIVE)
