"""libpcp, loaded once: its structures, constants, errors and typed functions."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_uint, c_void_p
from functools import cache
from typing import Any

# The layout of what is used here is the same in both, but for the time of a result.
LIBRARIES = ("libpcp.so.4", "libpcp.so.3")

# A pmResult begins with a timespec in the first of them, with a timeval in the other.
PARTS_OF_A_SECOND = dict(zip(LIBRARIES, (1e9, 1e6), strict=True))

NO_INDOM = 0xFFFFFFFF
NO_METRIC = 0xFFFFFFFF
CONTEXT_HOST = 1
ONE_LINE_OF_METRIC = 1 | 4

TYPE_32, TYPE_U32, TYPE_64, TYPE_U64, TYPE_FLOAT, TYPE_DOUBLE, TYPE_STRING = range(7)

UNKNOWN_NAME = -12357
TIMEOUT = -12353
# PM_ERR_IPC, _EOF, _NOTCONN, and below PM_ERR_BASE the system's own errors.
NO_ANSWER = frozenset({TIMEOUT, -12366, -12368, -12391})
ERROR_BASE = -12345

_MESSAGE_BYTES = 256

NameSeen = CFUNCTYPE(None, c_char_p)


class PmapiError(Exception):
    """Root of the errors of this folder."""


class LibraryMissingError(PmapiError):
    """libpcp is not on this machine."""


class PmError(PmapiError):
    """A negative status of PMAPI; ``code`` is the status, the text is PCP's own."""

    def __init__(self, code: int) -> None:
        super().__init__(error_text(code))
        self.code = code

    @property
    def is_silence(self) -> bool:
        """Whether it may be that PMCD itself does not answer any more."""
        return self.code in NO_ANSWER or self.code > ERROR_BASE


class PmDesc(ctypes.Structure):
    """struct pmDesc: what one metric is, in the library's own numbers."""

    _fields_ = (
        ("pmid", c_uint),
        ("type", c_int),
        ("indom", c_uint),
        ("semantics", c_int),
        ("units", c_uint),
    )


@cache
def libpcp() -> Any:
    """The library with typed functions; raises LibraryMissingError."""
    for name in LIBRARIES:
        try:
            return _typed(ctypes.CDLL(name))
        except OSError:
            continue
    raise LibraryMissingError(f"{LIBRARIES[-1]} is not installed: apt-get install pcp")


def _typed(library: Any) -> Any:
    pointer_pointer = POINTER(c_void_p)
    library.pmErrStr_r.argtypes = [c_int, c_char_p, c_int]
    library.pmNewContext.argtypes = [c_int, c_char_p]
    library.pmUseContext.argtypes = [c_int]
    library.pmDestroyContext.argtypes = [c_int]
    library.pmTraversePMNS.argtypes = [c_char_p, NameSeen]
    library.pmLookupName.argtypes = [c_int, POINTER(c_char_p), POINTER(c_uint)]
    library.pmLookupDesc.argtypes = [c_uint, POINTER(PmDesc)]
    library.pmLookupText.argtypes = [c_uint, c_int, pointer_pointer]
    library.pmUnitsStr_r.argtypes = [POINTER(c_uint), c_char_p, c_int]
    library.pmGetOptionalConfig.argtypes = [c_char_p]
    library.pmGetOptionalConfig.restype = c_char_p
    library.pmGetInDom.argtypes = [c_uint, pointer_pointer, pointer_pointer]
    library.pmNameInDom.argtypes = [c_uint, c_int, pointer_pointer]
    library.pmFetch.argtypes = [c_int, POINTER(c_uint), pointer_pointer]
    library.pmFreeResult.argtypes = [c_void_p]
    library.pmFreeResult.restype = None
    return library


@cache
def _free() -> Any:
    function = ctypes.CDLL(None).free
    function.argtypes = [c_void_p]
    function.restype = None
    return function


def free(pointer: c_void_p) -> None:
    """Give back memory that the library allocated for its caller."""
    _free()(pointer)


def error_text(code: int) -> str:
    """PCP's own words for a negative status."""
    buffer = ctypes.create_string_buffer(_MESSAGE_BYTES)
    libpcp().pmErrStr_r(code, buffer, _MESSAGE_BYTES)
    return buffer.value.decode(errors="replace")


def units_text(units: int) -> str:
    """The text of a descriptor's units, empty for none."""
    text = ctypes.create_string_buffer(_MESSAGE_BYTES)
    libpcp().pmUnitsStr_r(ctypes.byref(c_uint(units)), text, _MESSAGE_BYTES)
    return text.value.decode(errors="replace")


def checked(status: int) -> int:
    """The status; PmError where it is negative."""
    if status < 0:
        raise PmError(status)
    return status
