"""What a record holds: values, each beside the place of its series.

A series is told by some bytes, here of no meaning (a *head*), once in each segment, by
the record where it first has a value. Its place is its number among those told there.
A payload is ``first, told, values`` (u32), the lengths of the heads told (u32), the
places (u32) and values (float64) of all series, and the heads, back to back.
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


class Rows(NamedTuple):
    """Values of series by their heads; what is not a number is left out.

    ``heads`` is the same object for as long as nothing about it changed.
    """

    heads: Sequence[bytes]
    values: Values


class Told:
    """The series that a segment tells: the writer's side."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self._kept: dict[int, tuple[Sequence[bytes], Places]] = {}
        self._written = 0

    def payload(self, rows: Sequence[Rows]) -> bytes:
        """Rows as they are written, telling what no record tells yet."""
        parts = [(self._of(row.heads), row.values) for row in rows]
        finite = [np.isfinite(values) for _, values in parts]
        chosen = [
            (places[here], values[here].astype(_VALUE, copy=False))
            for (places, values), here in zip(parts, finite, strict=True)
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
        """A payload without values that tells the first series of the segment again."""
        heads = list(self._places)[:place]
        lengths = np.array([len(head) for head in heads], _PLACE).tobytes()
        return b"".join([_COUNTS.pack(0, len(heads), 0), lengths, *heads])

    def written(self) -> None:
        """The last payload is in the segment: what it told need not be told again."""
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


class Read(NamedTuple):
    """The values of one record and the places of their series."""

    places: Places
    values: Values


class Heads:
    """The series that a segment tells, as far as it was read: the reader's side.

    ``known`` are their heads by place; empty where the record that told it is damaged.
    """

    def __init__(self) -> None:
        self.known: list[bytes] = []
        self._lost: list[range] = []

    def learn(self, payload: bytes) -> None:
        """Take up the series that a payload tells."""
        first, told, _ = _COUNTS.unpack_from(payload)
        if first + told <= len(self.known):
            return
        if first > len(self.known):
            self._lost.append(range(len(self.known), first))
            self.known += [b""] * (first - len(self.known))
        lengths = np.frombuffer(payload, _PLACE, told, _COUNTS.size)
        at = len(payload) - int(lengths.sum())
        for length in lengths.tolist():
            self.known.append(payload[at : at + length])
            at += length

    def read(self, payload: bytes) -> Read:
        """The values of a payload, but those of series that nobody knows any more."""
        self.learn(payload)
        _, told, number = _COUNTS.unpack_from(payload)
        at = _COUNTS.size + _PLACE.itemsize * told
        places = np.frombuffer(payload, _PLACE, number, at)
        values = np.frombuffer(payload, _VALUE, number, at + places.nbytes)
        here = places < len(self.known)
        for lost in self._lost:
            here &= (places < lost.start) | (places >= lost.stop)
        return Read(places, values) if here.all() else Read(places[here], values[here])


def told_before(payload: bytes) -> int:
    """How many series were told before a payload."""
    return int(_COUNTS.unpack_from(payload)[0])


def tells(payload: bytes) -> bool:
    """Whether a payload tells series."""
    return bool(_COUNTS.unpack_from(payload)[1])


def points_of(rows: Sequence[Rows]) -> int:
    """How many values there are."""
    return sum(int(np.isfinite(row.values).sum()) for row in rows)
