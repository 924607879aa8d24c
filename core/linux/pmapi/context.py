"""A connection to one PMCD and the requests over it."""

import ctypes
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_uint
from functools import cache, partial
from threading import local
from typing import Any, NamedTuple, Self, TypeVar

from core.linux.pmapi.binding import (
    CONTEXT_HOST,
    NO_METRIC,
    PmError,
    binding,
    call_pcp,
    check_status,
)
from core.linux.pmapi.fd_limit import ROOM
from core.linux.pmapi.status import PmStatus

_ALWAYS_THERE = "pmcd.version"

_Answer = TypeVar("_Answer")
_THREAD = local()  # the handle that is PMAPI's current context in each thread


class MetricDescriptor(NamedTuple):
    """PCP's description of a metric: id, type, instance domain, semantics and units.

    All but the units are PCP's own numbers.
    """

    pmid: int
    type: int
    indom: int
    semantics: int = 0
    units: str = ""


class Context:
    """A connection to one PMCD, such as ``unix:///run/pcp/pmcd.socket``.

    Methods raise PmError. Threads may share a context; calls then run one at a time.
    """

    def __init__(self, address: str) -> None:
        module = binding()
        with ROOM.for_one():
            self._pcp = call_pcp(_closable(), CONTEXT_HOST, address)
        _THREAD.handle = self._handle = self._pcp.ctx
        self._lib, self._free = module.LIBPCP, module.LIBC.free
        self._one_line = module.c_api.PM_TEXT_ONELINE
        self._name_seen = module.traverseCB_type
        self._result = POINTER(module.pmResult)

    def close(self) -> None:
        """Close the connection."""
        self._lib.pmDestroyContext(self._pcp.ctx)
        self._pcp.is_closed = True
        _THREAD.handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def names(self) -> list[str]:
        """Return every metric name in the name space."""
        self._use()
        found: list[bytes] = []
        # The binding's own method holds the GIL while it waits for PMCD.
        check_status(self._lib.pmTraversePMNS(b"", self._name_seen(found.append)))
        return [name.decode(errors="replace") for name in found]

    def describe(self, name: str) -> MetricDescriptor:
        """Look a metric up by its name."""
        return self.descriptor(self.identifier(name))

    def describe_all(self, names: Sequence[str]) -> list[MetricDescriptor | PmError]:
        """Look metrics up by their names; a lookup that fails gives its error.

        All lookups together take two round trips, and each failed one takes one or two
        more.
        """
        pmids = self.identifiers(names)
        given = [pmid for pmid in pmids if pmid != NO_METRIC]
        found = dict(zip(given, self.descriptors(given), strict=True))
        return [
            found[pmid] if pmid in found else self._or_why(partial(self.describe, name))
            for name, pmid in zip(names, pmids, strict=True)
        ]

    def identifier(self, name: str) -> int:
        """Return the identifier of one metric."""
        self._use()
        return int(call_pcp(self._pcp.pmLookupName, name)[0])

    def identifiers(self, names: Sequence[str]) -> list[int]:
        """Return the identifier of each metric; NO_METRIC if PMCD does not give it."""
        self._use()
        found = self._or_why(
            partial(call_pcp, self._pcp.pmLookupName, names, relaxed=1)
        )
        # If the request fails as a whole, each name is looked up separately.
        return [NO_METRIC] * len(names) if isinstance(found, PmError) else list(found)

    def descriptor(self, pmid: int) -> MetricDescriptor:
        """Return the descriptor of one identifier."""
        self._use()
        return _descriptor(call_pcp(self._pcp.pmLookupDesc, pmid).contents)

    def descriptors(self, pmids: Sequence[int]) -> list[MetricDescriptor | PmError]:
        """Return the descriptor of each identifier, or the error."""
        self._use()
        answer = self._or_why(partial(call_pcp, self._pcp.pmLookupDescs, pmids))
        found = [] if isinstance(answer, PmError) else answer
        given = {one.contents.pmid: _descriptor(one.contents) for one in found}
        given.pop(NO_METRIC, None)
        return [
            given[pmid]
            if pmid in given
            else self._or_why(partial(self.descriptor, pmid))
            for pmid in pmids
        ]

    def help_line(self, pmid: int) -> str | None:
        """Return the one-line help of a metric, if it has one."""
        self._use()
        text = c_char_p()
        # The binding's own method returns bytes or, since PCP 6.3, a str from strict
        # UTF-8.
        if self._lib.pmLookupText(pmid, self._one_line, byref(text)) < 0:
            return None
        try:
            return (text.value or b"").decode(errors="replace").strip() or None
        finally:
            self._free(text)

    def version(self) -> str | None:
        """Return the version of the library."""
        value: str | None = self._pcp.pmGetConfig("PCP_VERSION")
        return value

    def check(self) -> None:
        """Check that PMCD itself answers, whatever the state of its agents."""
        try:
            self.describe(_ALWAYS_THERE)
        except PmError as error:
            if error.is_timeout:
                raise

    def instances(self, indom: int) -> dict[int, str]:
        """Return an instance domain's external names by internal number, in order."""
        self._use()
        numbers, names = POINTER(c_int)(), POINTER(c_char_p)()
        count = check_status(self._lib.pmGetInDom(indom, byref(numbers), byref(names)))
        try:
            # The binding leaves out non-ASCII names. Bytes that are not UTF-8 are
            # escaped, so they stay visible and distinct.
            return {
                numbers[at]: (names[at] or b"").decode(errors="backslashreplace")
                for at in range(count)
            }
        finally:
            self._free(numbers)
            self._free(names)

    def instance_name(self, indom: int, number: int) -> str | None:
        """Return the external name of one instance; None if the domain lacks it."""
        self._use()
        name = c_char_p()
        if self._lib.pmNameInDom(indom, number, byref(name)) < 0:
            return None
        try:
            return (name.value or b"").decode(errors="replace")
        finally:
            self._free(name)

    def fetch(self, pmids: "ctypes.Array[c_uint]") -> "Result":
        """Fetch metrics."""
        self._use()
        result = self._result()
        # The binding's own method does not report whether agents changed.
        changed = check_status(self._lib.pmFetch(len(pmids), pmids, byref(result)))
        return Result(result, changed)

    def _or_why(self, ask: Callable[[], _Answer]) -> _Answer | PmError:
        try:
            return ask()
        except PmError as error:
            self._heed(error.number)
            return error

    def _heed(self, status: int) -> None:
        """Raise if the error ends the connection, so that no more requests use it."""
        if status == PmStatus.TIMEOUT:
            # The answer may still arrive and would be taken for the answer to the next
            # request.
            raise PmError(status)
        if PmError(status).is_timeout:
            # It may be an agent's error that PMCD passes on.
            self.check()

    def _use(self) -> None:
        # Each library call releases the GIL and must take it again, so avoid needless
        # calls.
        if getattr(_THREAD, "handle", None) != self._handle:
            check_status(self._lib.pmUseContext(self._handle))
            _THREAD.handle = self._handle


@cache
def _closable() -> Any:
    """Return the binding's class of contexts, with a mark that one is closed.

    The binding destroys a context with its last reference, which an error may hold. By
    then another context may have the same number.
    """

    class ClosableContext(binding().pmContext):  # type: ignore[misc]
        is_closed = False

        def __del__(self) -> None:
            if not self.is_closed:
                super().__del__()

    return ClosableContext


class Result:
    """The result of one fetch: the pmResult at ``address``, freed with this object.

    ``changed`` holds PCP's change flags.
    """

    def __init__(self, pointer: Any, changed: int) -> None:
        self._pointer = pointer
        self.address = ctypes.addressof(pointer.contents)
        self.changed = changed
        self._free = binding().pmContext.pmFreeResult

    def __del__(self) -> None:
        self._free(self._pointer)

    @property
    def seconds(self) -> float:
        """The time when PMCD made it, by PMCD's clock (Unix seconds)."""
        return float(self._pointer.contents.timestamp)


def pmid_array(pmids: Sequence[int]) -> "ctypes.Array[c_uint]":
    """Return the ids of metrics as an array for pmFetch."""
    return (c_uint * len(pmids))(*pmids)


def _descriptor(desc: Any) -> MetricDescriptor:
    return MetricDescriptor(desc.pmid, desc.type, desc.indom, desc.sem, str(desc.units))
