"""PCP's client library, as far as the bridge needs it: libpcp through ctypes.

The distribution's Python binding decodes each value on its own and is tied to the
distribution's Python; the library is neither. See PMAPI(3).
"""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char_p, c_int, c_uint, c_void_p
from functools import cache
from typing import Any, NamedTuple

from sampler_bridge.errors import SourceError

LIBRARY = "libpcp.so.3"
NO_INDOM = 0xFFFFFFFF
NO_METRIC = 0xFFFFFFFF
CONTEXT_HOST = 1

TYPE_32, TYPE_U32, TYPE_64, TYPE_U64, TYPE_FLOAT, TYPE_DOUBLE = range(6)
NOT_NUMBERS = {
    -1: "values that this PCP does not support",
    6: "texts",
    7: "aggregates",
    8: "aggregates",
    9: "events",
    10: "events",
}

_MESSAGE_BYTES = 128
UNKNOWN_NAME = -12357
# PM_ERR_TIMEOUT, _IPC, _EOF, _NOTCONN, and below PM_ERR_BASE the system's own errors.
_NO_ANSWER = frozenset({-12353, -12366, -12368, -12391})
_ERROR_BASE = -12345
_ALWAYS_THERE = "pmcd.version"


class PmError(Exception):
    """A negative status of PMAPI; ``code`` is the status."""

    def __init__(self, code: int) -> None:
        super().__init__(error_text(code))
        self.code = code


class PmDesc(ctypes.Structure):
    """struct pmDesc; ``units`` is left as it is."""

    _fields_ = [  # noqa: RUF012
        ("pmid", c_uint),
        ("type", c_int),
        ("indom", c_uint),
        ("sem", c_int),
        ("units", c_uint),
    ]


class Metric(NamedTuple):
    """How PCP describes a metric: its id, type code and instance domain."""

    pmid: int
    type: int
    indom: int


@cache
def _libpcp() -> Any:
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise SourceError(f"{LIBRARY} is missing: install PCP's libpcp3") from error
    pointer_pointer = POINTER(c_void_p)
    library.pmErrStr_r.argtypes = [c_int, c_char_p, c_int]
    library.pmNewContext.argtypes = [c_int, c_char_p]
    library.pmUseContext.argtypes = [c_int]
    library.pmDestroyContext.argtypes = [c_int]
    library.pmLookupName.argtypes = [c_int, POINTER(c_char_p), POINTER(c_uint)]
    library.pmLookupDesc.argtypes = [c_uint, POINTER(PmDesc)]
    library.pmGetInDom.argtypes = [c_uint, pointer_pointer, pointer_pointer]
    library.pmFetch.argtypes = [c_int, POINTER(c_uint), pointer_pointer]
    library.pmFreeResult.argtypes = [c_void_p]
    library.pmFreeResult.restype = None
    return library


@cache
def _free() -> Any:
    free = ctypes.CDLL(None).free
    free.argtypes = [c_void_p]
    free.restype = None
    return free


def error_text(code: int) -> str:
    """PCP's own words for a negative status."""
    buffer = ctypes.create_string_buffer(_MESSAGE_BYTES)
    _libpcp().pmErrStr_r(code, buffer, _MESSAGE_BYTES)
    return buffer.value.decode(errors="replace")


def _checked(status: int) -> int:
    if status < 0:
        raise PmError(status)
    return status


class Context:
    """A connection to one PMCD; every method raises PmError.

    One thread uses a context: PMAPI remembers the current one for each thread.
    """

    def __init__(self, address: str) -> None:
        self._lib = _libpcp()
        self._handle = _checked(self._lib.pmNewContext(CONTEXT_HOST, address.encode()))

    def close(self) -> None:
        """Give the connection back."""
        self._lib.pmDestroyContext(self._handle)

    def describe(self, name: str) -> Metric:
        """Look a metric up by its name."""
        self._use()
        names, pmid, desc = (c_char_p * 1)(name.encode()), c_uint(NO_METRIC), PmDesc()
        _checked(self._lib.pmLookupName(1, names, byref(pmid)))
        _checked(self._lib.pmLookupDesc(pmid, byref(desc)))
        return Metric(desc.pmid, desc.type, desc.indom)

    def check(self) -> None:
        """Make sure that PMCD itself answers, whatever its agents do."""
        try:
            self.describe(_ALWAYS_THERE)
        except PmError as error:
            if error.code in _NO_ANSWER or error.code > _ERROR_BASE:
                raise

    def instances(self, indom: int) -> dict[int, str]:
        """External names of an instance domain by internal number."""
        self._use()
        numbers, names = c_void_p(), c_void_p()
        count = _checked(self._lib.pmGetInDom(indom, byref(numbers), byref(names)))
        if count == 0:  # PCP sets neither list then
            return {}
        try:
            return _read_instances(count, numbers, names)
        finally:
            _free()(numbers)
            _free()(names)

    @contextmanager
    def fetch(self, pmids: "ctypes.Array[c_uint]") -> Iterator[tuple[int, int]]:
        """Fetch metrics: the address of the pmResult, and PCP's change flags.

        The result lives as long as the ``with`` block.
        """
        self._use()
        result = c_void_p()
        changed = _checked(self._lib.pmFetch(len(pmids), pmids, byref(result)))
        try:
            yield result.value or 0, changed
        finally:
            self._lib.pmFreeResult(result)

    def _use(self) -> None:
        _checked(self._lib.pmUseContext(self._handle))


def pmid_array(pmids: Sequence[int]) -> "ctypes.Array[c_uint]":
    """The ids of metrics as pmFetch wants them."""
    return (c_uint * len(pmids))(*pmids)


def _read_instances(count: int, numbers: c_void_p, names: c_void_p) -> dict[int, str]:
    ids = ctypes.cast(numbers, POINTER(c_int))
    texts = ctypes.cast(names, POINTER(c_char_p))
    # Bytes that are no UTF-8 stay visible and distinct.
    return {
        ids[at]: (texts[at] or b"").decode(errors="backslashreplace")
        for at in range(count)
    }
