"""Encodes packets of a Perfetto trace as Protocol Buffers.

The field numbers are those of `trace_packet.proto`, `track_descriptor.proto`,
`track_event.proto` and `clock_snapshot.proto` at https://perfetto.dev/docs/reference.
Times are Unix time in ns. The trace declares the clock REALTIME as its own, so readers
do not convert them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.protobuf import BYTES, DOUBLE, VARINT, field, integer, tag, varint

# Fields of a trace, a packet, a track descriptor and a track event.
_PACKET = 1
_CLOCKS, _TIME, _SEQUENCE, _EVENT, _FLAGS, _CLOCK, _TRACK = 6, 8, 10, 11, 13, 58, 60
_UUID, _NAME, _PARENT, _COUNTER, _ORDER, _RANK, _UNIT = 1, 2, 5, 8, 11, 12, 6
_ANNOTATION, _TYPE, _OF_TRACK, _TITLE, _VALUE = 4, 9, 11, 23, 44
_ANNOTATION_NAME, _ANNOTATION_TEXT = 10, 6
_BEGIN, _END, _COUNT = 1, 2, 4
_REALTIME, _ONLY_SEQUENCE, _STATE_CLEARED, _EXPLICIT = 1, 1, 1, 3
# A varint of nine bytes holds the times from 1972 to 2262.
_TIME_BYTES, _FIRST_NS = 9, 1 << 56
_NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class Track:
    """A track of a timeline, inside the track ``parent`` unless that is 0.

    ``unit`` is the unit of a counter, and None for a track of slices. Tracks are sorted
    by ``rank``.
    """

    uuid: int
    name: str
    parent: int = 0
    unit: str | None = None
    rank: int = 0


def start(ns: int) -> bytes:
    """Return the first packet, which declares the clock of the trace."""
    clock = integer(1, _REALTIME) + integer(2, ns)
    snapshot = field(1, clock) + integer(2, _REALTIME)
    return _packet(field(_CLOCKS, snapshot) + integer(_FLAGS, _STATE_CLEARED))


def track(one: Track) -> bytes:
    """Return the packet that describes a track; it must precede the track's events."""
    found = integer(_UUID, one.uuid) + field(_NAME, one.name)
    found += integer(_ORDER, _EXPLICIT) + integer(_RANK, one.rank)
    if one.parent:
        found += integer(_PARENT, one.parent)
    if one.unit is not None:
        found += field(_COUNTER, field(_UNIT, one.unit))
    return _packet(field(_TRACK, found))


def begin(
    uuid: int, ns: int, name: str, facts: Mapping[str, str] | None = None
) -> bytes:
    """Return the packet that begins a slice; Perfetto shows ``facts`` with it."""
    found = field(_TITLE, name)
    for fact, text in (facts or {}).items():
        about = field(_ANNOTATION_NAME, fact) + field(_ANNOTATION_TEXT, text)
        found += field(_ANNOTATION, about)
    return _event(uuid, ns, _BEGIN, found)


def end(uuid: int, ns: int) -> bytes:
    """Return the packet that ends the open slice of a track that began last."""
    return _event(uuid, ns, _END, b"")


def counts(
    uuid: int, stamps_ms: npt.NDArray[np.int64], values: npt.NDArray[np.float64]
) -> bytes:
    """Return a packet for each value of a counter.

    ``stamps_ms`` are Unix milliseconds. All packets have the same length, so they are
    rows of one array.
    """
    event = integer(_TYPE, _COUNT) + integer(_OF_TRACK, uuid) + tag(_VALUE, DOUBLE)
    head = _head() + tag(_EVENT, BYTES) + varint(len(event) + 8) + event
    time = tag(_TIME, VARINT)
    length = len(head) + 8 + len(time) + _TIME_BYTES
    before = np.frombuffer(tag(_PACKET, BYTES) + varint(length) + head, np.uint8)
    rows = np.empty((len(values), len(before) + 8 + len(time) + _TIME_BYTES), np.uint8)
    at = len(before)
    rows[:, :at] = before
    rows[:, at : at + 8] = values.astype("<f8").view(np.uint8).reshape(-1, 8)
    rows[:, at + 8 : at + 8 + len(time)] = np.frombuffer(time, np.uint8)
    rows[:, -_TIME_BYTES:] = _times(stamps_ms * _NS_PER_MS)
    return rows.tobytes()


def _times(ns: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """Return times as varints of nine bytes."""
    shifts = 7 * np.arange(_TIME_BYTES)
    # A time before 1972 would have fewer bytes, but there are no such samples.
    digits = (np.maximum(ns, _FIRST_NS)[:, None] >> shifts) & 0x7F
    digits[:, :-1] |= 0x80
    return digits.astype(np.uint8)


def _event(uuid: int, ns: int, type_: int, more: bytes) -> bytes:
    event = integer(_TYPE, type_) + integer(_OF_TRACK, uuid) + more
    return _packet(integer(_TIME, ns) + _head() + field(_EVENT, event), has_head=True)


def _head() -> bytes:
    return integer(_CLOCK, _REALTIME) + integer(_SEQUENCE, _ONLY_SEQUENCE)


def _packet(content: bytes, *, has_head: bool = False) -> bytes:
    head = b"" if has_head else integer(_SEQUENCE, _ONLY_SEQUENCE)
    return field(_PACKET, head + content)
