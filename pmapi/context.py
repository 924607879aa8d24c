"""A connection to one PMCD, and what can be asked over it."""

import ctypes
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_long, c_uint, c_void_p
from functools import partial
from threading import local
from typing import NamedTuple, Self, TypeVar

from pmapi.library import (
    CONTEXT_HOST,
    NO_METRIC,
    ONE_LINE_OF_METRIC,
    PARTS_OF_A_SECOND,
    TIMEOUT,
    NameSeen,
    PmDesc,
    PmError,
    checked,
    free,
    libpcp,
)
from pmapi.room import ROOM

_ALWAYS_THERE = "pmcd.version"

_Answer = TypeVar("_Answer")
_THREAD = local()  # which context PMAPI has as the current one of each thread


class Metric(NamedTuple):
    """How PCP describes a metric: its id, type code and instance domain."""

    pmid: int
    type: int
    indom: int


class Context:
    """A connection to one PMCD, such as ``unix:///run/pcp/pmcd.socket``.

    Methods raise PmError. Threads may share a context; one waits for the other then.
    """

    def __init__(self, address: str) -> None:
        self._lib = libpcp()
        with ROOM.for_one():
            self._handle = checked(
                self._lib.pmNewContext(CONTEXT_HOST, address.encode())
            )
        _THREAD.handle = self._handle

    def close(self) -> None:
        """Give the connection back."""
        self._lib.pmDestroyContext(self._handle)
        _THREAD.handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def names(self) -> list[str]:
        """Every metric of the name space."""
        self._use()
        found: list[bytes] = []
        checked(self._lib.pmTraversePMNS(b"", NameSeen(found.append)))
        return [name.decode(errors="replace") for name in found]

    def describe(self, name: str) -> Metric:
        """Look a metric up by its name."""
        return _metric(self.descriptor(self.identifier(name)))

    def describe_all(self, names: Sequence[str]) -> list[Metric | PmError]:
        """Look metrics up by their names; where that fails, say why.

        It takes two round trips for all, and one or two more for each that fails.
        """
        pmids = self.identifiers(names)
        given = [pmid for pmid in pmids if pmid != NO_METRIC]
        descs = dict(zip(given, self.descriptors(given), strict=True))
        return [
            self._metric_or_why(name, descs.get(pmid))
            for name, pmid in zip(names, pmids, strict=True)
        ]

    def identifier(self, name: str) -> int:
        """The identifier of one metric."""
        self._use()
        names, pmid = (c_char_p * 1)(name.encode()), c_uint(NO_METRIC)
        checked(self._lib.pmLookupName(1, names, byref(pmid)))
        return pmid.value

    def identifiers(self, names: Sequence[str]) -> list[int]:
        """The identifier of each metric; NO_METRIC where PMCD does not give it."""
        self._use()
        found = (c_uint * len(names))(*[NO_METRIC] * len(names))
        texts = (c_char_p * len(names))(*[name.encode() for name in names])
        # A failure as a whole still leaves what was found; each one tells itself.
        self._heed(self._lib.pmLookupName(len(names), texts, found))
        return list(found)

    def descriptor(self, pmid: int) -> PmDesc:
        """The descriptor of one identifier."""
        self._use()
        desc = PmDesc()
        checked(self._lib.pmLookupDesc(pmid, byref(desc)))
        return desc

    def descriptors(self, pmids: Sequence[int]) -> list[PmDesc | PmError]:
        """The descriptor of each identifier, or why there is none."""
        self._use()
        found = (PmDesc * len(pmids))()
        for desc in found:
            desc.pmid = NO_METRIC
        if hasattr(self._lib, "pmLookupDescs"):  # since PCP 6: one round trip
            self._heed(self._lib.pmLookupDescs(len(pmids), pmid_array(pmids), found))
        return [
            desc if desc.pmid == pmid != NO_METRIC else self._descriptor_or_why(pmid)
            for pmid, desc in zip(pmids, found, strict=True)
        ]

    def help_line(self, pmid: int) -> str | None:
        """The one-line help of a metric, where it has any."""
        self._use()
        text = c_void_p()
        if self._lib.pmLookupText(pmid, ONE_LINE_OF_METRIC, byref(text)) < 0:
            return None
        try:
            value = ctypes.cast(text, c_char_p).value or b""
            return value.decode(errors="replace").strip() or None
        finally:
            free(text)

    def version(self) -> str | None:
        """The version of the library."""
        value: bytes | None = self._lib.pmGetOptionalConfig(b"PCP_VERSION")
        return value.decode(errors="replace") if value else None

    def check(self) -> None:
        """Make sure that PMCD itself answers, whatever its agents do."""
        try:
            self.describe(_ALWAYS_THERE)
        except PmError as error:
            if error.is_silence:
                raise

    def instances(self, indom: int) -> dict[int, str]:
        """External names of an instance domain by internal number, in PCP's order."""
        self._use()
        numbers, names = c_void_p(), c_void_p()
        count = checked(self._lib.pmGetInDom(indom, byref(numbers), byref(names)))
        if count == 0:  # PCP sets neither list then
            return {}
        try:
            return _read_instances(count, numbers, names)
        finally:
            free(numbers)
            free(names)

    def instance_name(self, indom: int, number: int) -> str | None:
        """The external name of one instance; None where the domain has none such."""
        self._use()
        name = c_void_p()
        if self._lib.pmNameInDom(indom, number, byref(name)) < 0:
            return None
        try:
            return (ctypes.cast(name, c_char_p).value or b"").decode(errors="replace")
        finally:
            free(name)

    def fetch(self, pmids: "ctypes.Array[c_uint]") -> "Result":
        """Fetch metrics."""
        self._use()
        result = c_void_p()
        changed = checked(self._lib.pmFetch(len(pmids), pmids, byref(result)))
        return Result(result, changed)

    def _metric_or_why(
        self, name: str, desc: PmDesc | PmError | None
    ) -> Metric | PmError:
        if desc is None:
            return self._or_why(partial(self.describe, name))
        return desc if isinstance(desc, PmError) else _metric(desc)

    def _descriptor_or_why(self, pmid: int) -> PmDesc | PmError:
        return self._or_why(partial(self.descriptor, pmid))

    def _or_why(self, ask: Callable[[], _Answer]) -> _Answer | PmError:
        try:
            return ask()
        except PmError as error:
            self._heed(error.code)
            return error

    def _heed(self, status: int) -> None:
        """Raise what ends the connection, so that nothing more is asked over it."""
        if status == TIMEOUT:
            # The answer may come yet, and would be taken for that to the next question.
            raise PmError(status)
        if status < 0 and PmError(status).is_silence:
            # It may be an agent's, handed on by PMCD.
            self.check()

    def _use(self) -> None:
        # Each call of the library gives the interpreter up and has to get it back.
        if getattr(_THREAD, "handle", None) != self._handle:
            checked(self._lib.pmUseContext(self._handle))
            _THREAD.handle = self._handle


class Result:
    """What one fetch gave: the pmResult at ``address``, freed with this object.

    ``changed`` are PCP's change flags.
    """

    def __init__(self, pointer: c_void_p, changed: int) -> None:
        self.address = pointer.value or 0
        self.changed = changed
        self._free = libpcp().pmFreeResult

    def __del__(self) -> None:
        self._free(self.address)

    @property
    def seconds(self) -> float:
        """When PMCD made it, by its own clock (Unix seconds)."""
        seconds, part = (c_long * 2).from_address(self.address)
        return float(seconds + part / PARTS_OF_A_SECOND[libpcp()._name])


def pmid_array(pmids: Sequence[int]) -> "ctypes.Array[c_uint]":
    """The ids of metrics as pmFetch wants them."""
    return (c_uint * len(pmids))(*pmids)


def _metric(desc: PmDesc) -> Metric:
    return Metric(desc.pmid, desc.type, desc.indom)


def _read_instances(count: int, numbers: c_void_p, names: c_void_p) -> dict[int, str]:
    ids = ctypes.cast(numbers, POINTER(c_int))
    texts = ctypes.cast(names, POINTER(c_char_p))
    # Bytes that are no UTF-8 stay visible and distinct.
    return {
        ids[at]: (texts[at] or b"").decode(errors="backslashreplace")
        for at in range(count)
    }
