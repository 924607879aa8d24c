"""The payload of a record: values, each with the place of its series.

A byte string (*head*), opaque to the log, identifies a series. Each segment declares a
head once, in the first record with a value of the series. The place of a series is its
index among the heads that the segment declares. A payload consists of ``first``,
``declared`` and ``values`` (u32), the lengths of the declared heads (u32), the places
(u32) and values (float64) of all series, and the heads, back to back.
"""

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.uint32]
Values = npt.NDArray[np.float64]

_COUNTS = struct.Struct("<III")
_PLACE, _VALUE = np.dtype("<u4"), np.dtype("<f8")
_MOST_KEPT = 64


class LogRows(NamedTuple):
    """Values of series by their heads; only finite values are written.

    ``heads`` is the same object as long as it does not change.
    """

    heads: Sequence[bytes]
    values: Values


class SeriesEncoder:
    """The series that a segment declares, for the writer."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self._kept: dict[int, tuple[Sequence[bytes], Places]] = {}
        self._written = 0

    def payload(self, rows: Sequence[LogRows]) -> bytes:
        """Encode rows, and declare the series that no record declares yet."""
        parts = [(self._of(row.heads), row.values) for row in rows]
        finite = [np.isfinite(values) for _, values in parts]
        chosen = [
            (places[mask], values[mask].astype(_VALUE, copy=False))
            for (places, values), mask in zip(parts, finite, strict=True)
        ]
        new = self._new()
        counts = self._written, len(new), sum(len(values) for _, values in chosen)
        return b"".join(
            [
                _COUNTS.pack(*counts),
                np.array([len(head) for head in new], _PLACE).tobytes(),
                *(places.tobytes() for places, _ in chosen),
                *(values.tobytes() for _, values in chosen),
                *new,
            ]
        )

    def heads_before(self, place: int) -> bytes:
        """A payload without values that declares the first ``place`` series again."""
        heads = list(self._places)[:place]
        lengths = np.array([len(head) for head in heads], _PLACE).tobytes()
        return b"".join([_COUNTS.pack(0, len(heads), 0), lengths, *heads])

    def written(self) -> None:
        """Note that the last payload is in the segment, so its series are declared."""
        self._written = len(self._places)

    def _new(self) -> list[bytes]:
        if self._written == len(self._places):
            return []
        return list(self._places)[self._written :]

    def _of(self, heads: Sequence[bytes]) -> Places:
        known = self._kept.get(id(heads))
        if known is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            known = (heads, self._found(heads))
            self._kept[id(heads)] = known
        return known[1]

    def _found(self, heads: Sequence[bytes]) -> Places:
        place = self._places.setdefault
        return np.fromiter(
            (place(head, len(self._places)) for head in heads), _PLACE, len(heads)
        )


class DecodedRecord(NamedTuple):
    """The values of one record and the places of their series."""

    places: Places
    values: Values


class SeriesDecoder:
    """The series that a segment declares, as far as it was read: for the reader.

    ``known`` holds their heads by place; a head is empty if the record that declared it
    is damaged.
    """

    def __init__(self) -> None:
        self.known: list[bytes] = []
        self._lost: list[range] = []

    def learn(self, payload: bytes) -> None:
        """Add the series that a payload declares."""
        first, declared, _ = _COUNTS.unpack_from(payload)
        if first + declared <= len(self.known):
            return
        if first > len(self.known):
            self._lost.append(range(len(self.known), first))
            self.known += [b""] * (first - len(self.known))
        lengths = np.frombuffer(payload, _PLACE, declared, _COUNTS.size)
        at = len(payload) - int(lengths.sum())
        for length in lengths.tolist():
            self.known.append(payload[at : at + length])
            at += length

    def read(self, payload: bytes) -> DecodedRecord:
        """The values of a payload, except those of series with a lost declaration."""
        self.learn(payload)
        _, declared, number = _COUNTS.unpack_from(payload)
        at = _COUNTS.size + _PLACE.itemsize * declared
        places = np.frombuffer(payload, _PLACE, number, at)
        values = np.frombuffer(payload, _VALUE, number, at + places.nbytes)
        is_known = places < len(self.known)
        for lost in self._lost:
            is_known &= (places < lost.start) | (places >= lost.stop)
        return (
            DecodedRecord(places, values)
            if is_known.all()
            else DecodedRecord(places[is_known], values[is_known])
        )


def first_series_number(payload: bytes) -> int:
    """How many series were declared before a payload."""
    return int(_COUNTS.unpack_from(payload)[0])


def has_heads(payload: bytes) -> bool:
    """Whether a payload declares series."""
    return bool(_COUNTS.unpack_from(payload)[1])


def points_of(rows: Sequence[LogRows]) -> int:
    """The number of finite values."""
    return sum(int(np.isfinite(row.values).sum()) for row in rows)
