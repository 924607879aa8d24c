"""The few calls of PCP's client library that a probe needs, many metrics at a time."""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import (
    CFUNCTYPE,
    POINTER,
    byref,
    c_char_p,
    c_int,
    c_uint,
    c_void_p,
    create_string_buffer,
)
from dataclasses import dataclass

from ingest.errors import SourceMissingError, SourceRefusedError

NO_INDOM = 0xFFFFFFFF
NO_METRIC = 0xFFFFFFFF
_LIBRARIES = ("libpcp.so.4", "libpcp.so.3")
_HOST_CONTEXT = 1
_ONE_LINE_OF_METRIC = 1 | 4
_TEXT_SIZE = 256


class Descriptor(ctypes.Structure):
    """PCP's pmDesc: what one metric is, in the library's own numbers."""

    _fields_ = (
        ("pmid", c_uint),
        ("type", c_int),
        ("indom", c_uint),
        ("semantics", c_int),
        ("units", c_uint),
    )


class PcpError(Exception):
    """A call that the library refused; its text is the library's own."""


_NameSeen = CFUNCTYPE(None, c_char_p)


@dataclass(frozen=True)
class Pmapi:
    """The library with one open connection to a PMCD, for use in one thread."""

    library: ctypes.CDLL

    def names(self) -> list[str]:
        """Every metric of the name space."""
        found: list[bytes] = []
        self._call("pmTraversePMNS", b"", _NameSeen(found.append))
        return [name.decode(errors="replace") for name in found]

    def identifiers(self, names: Sequence[str]) -> list[int]:
        """The identifier of each metric; NO_METRIC where PMCD does not give it."""
        found = (c_uint * len(names))(*[NO_METRIC] * len(names))
        texts = (c_char_p * len(names))(*[name.encode() for name in names])
        # A failure as a whole still leaves what was found; each one tells itself.
        self.library.pmLookupName(len(names), texts, found)
        return list(found)

    def descriptors(self, pmids: Sequence[int]) -> list[Descriptor | str]:
        """The descriptor of each identifier, or why there is none."""
        found = (Descriptor * len(pmids))()
        if hasattr(self.library, "pmLookupDescs"):
            wanted = (c_uint * len(pmids))(*pmids)
            for descriptor in found:
                descriptor.pmid = NO_METRIC
            self.library.pmLookupDescs(len(pmids), wanted, found)
        return [
            descriptor
            if descriptor.pmid == pmid != NO_METRIC
            else self._descriptor(pmid)
            for pmid, descriptor in zip(pmids, found, strict=True)
        ]

    def help_line(self, pmid: int) -> str | None:
        """The one-line help of a metric, where it has any."""
        return self._owned_text("pmLookupText", pmid, _ONE_LINE_OF_METRIC)

    def instances(self, indom: int) -> list[tuple[str, int]]:
        """The instances of a domain now: external name, number. Raises PcpError."""
        numbers, names = POINTER(c_int)(), POINTER(c_char_p)()
        count = self._call("pmGetInDom", indom, byref(numbers), byref(names))
        try:
            texts = [name.decode(errors="replace") for name in names[:count]]
            return list(zip(texts, numbers[:count], strict=True))
        finally:
            # Both are None where the domain is empty.
            if count:
                _free(numbers)
                _free(names)

    def units(self, units: int) -> str:
        """The text of a descriptor's units, empty for none."""
        text = create_string_buffer(_TEXT_SIZE)
        self.library.pmUnitsStr_r(byref(c_uint(units)), text, _TEXT_SIZE)
        return text.value.decode(errors="replace")

    def version(self) -> str | None:
        """The version of the library."""
        value: bytes | None = self.library.pmGetOptionalConfig(b"PCP_VERSION")
        return value.decode(errors="replace") if value else None

    def refusal(self, name: str) -> str:
        """Why PMCD does not know a metric, in the library's own words."""
        pmid = c_uint(NO_METRIC)
        try:
            self._call("pmLookupName", 1, byref(c_char_p(name.encode())), byref(pmid))
        except PcpError as error:
            return str(error)
        return "its identifier is missing"

    def _descriptor(self, pmid: int) -> Descriptor | str:
        descriptor = Descriptor()
        try:
            self._call("pmLookupDesc", pmid, byref(descriptor))
        except PcpError as error:
            return str(error)
        return descriptor

    def _owned_text(self, function: str, number: int, kind: int) -> str | None:
        text = c_char_p()
        try:
            self._call(function, number, kind, byref(text))
        except PcpError:
            return None
        value = (text.value or b"").decode(errors="replace").strip()
        _free(text)
        return value or None

    def _call(self, function: str, *arguments: object) -> int:
        status: int = getattr(self.library, function)(*arguments)
        if status < 0:
            raise PcpError(_error_text(self.library, status))
        return status


@contextmanager
def connect(address: str) -> Iterator[Pmapi]:
    """A connection to the PMCD at an address such as ``unix:///run/pcp/pmcd.socket``.

    Raises SourceMissingError and SourceRefusedError.
    """
    library = _load()
    context = library.pmNewContext(_HOST_CONTEXT, address.encode())
    if context < 0:
        raise SourceRefusedError(
            f"no PMCD answers at {address} ({_error_text(library, context)}): "
            "start it with `systemctl start pmcd`, or give another address"
        )
    try:
        yield Pmapi(library)
    finally:
        library.pmDestroyContext(context)


def _load() -> ctypes.CDLL:
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        return _typed(library)
    raise SourceMissingError(
        f"{_LIBRARIES[-1]} is not installed: apt-get install pcp libpcp3"
    )


def _typed(library: ctypes.CDLL) -> ctypes.CDLL:
    library.pmGetOptionalConfig.restype = c_char_p
    library.pmLookupDesc.argtypes = (c_uint, POINTER(Descriptor))
    library.pmLookupText.argtypes = (c_uint, c_int, POINTER(c_char_p))
    library.pmGetInDom.argtypes = (
        c_uint,
        POINTER(POINTER(c_int)),
        POINTER(POINTER(c_char_p)),
    )
    return library


def _error_text(library: ctypes.CDLL, status: int) -> str:
    text = create_string_buffer(_TEXT_SIZE)
    library.pmErrStr_r(status, text, _TEXT_SIZE)
    return text.value.decode(errors="replace")


def _free(pointer: object) -> None:
    _LIBC.free(ctypes.cast(pointer, c_void_p))  # type: ignore[arg-type]


_LIBC = ctypes.CDLL(None)
