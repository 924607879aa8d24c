"""Reads the values of a pmResult from its memory.

Many values are gathered by numpy, without a Python loop; few are read one by one, which
is then faster than numpy's calls.

A pmResult is a header of 24 bytes and pointers to pmValueSets, one for each requested
metric, in order. A pmValueSet is ``{pmid, numval, valfmt, pad, pmValue[numval]}``; a
pmValue is 16 bytes: the instance, a pad, and either the value itself or a pointer to a
pmValueBlock, with its data from byte 4 on. All of it is 4-byte aligned.
"""

import struct
from ctypes import string_at
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.linux.pmapi import PmStatus

Words = npt.NDArray[np.uint32]
Longs = npt.NDArray[np.int64]

_RESULT_HEADER = 24
_SET_HEADER, _VALUE_BYTES = 16, 16
_IN_PLACE = 0

_FEW = 64  # metrics, and values; numpy takes as long as for about 150
_SET = struct.Struct("<4xii4x")
_VALUE = struct.Struct("<i4xQ")
_POINTER = struct.Struct("<Q")
_PIECES = {False: struct.Struct("<4xI"), True: struct.Struct("<4xQ")}


MOST_BYTES = 256


class Raw(NamedTuple):
    """One fetch: each metric's number of values or its error, and all values in order.

    ``counts`` has shape (metrics,); ``instances`` and ``bits`` have shape (values,).
    ``bits`` holds the 4 or 8 bytes of each value as an unsigned number.
    """

    counts: npt.NDArray[np.int32]
    instances: npt.NDArray[np.int32]
    bits: npt.NDArray[np.uint64]


class RawTexts(NamedTuple):
    """The texts of one fetch, each with a NUL at its end, back to back in whole words.

    ``counts`` has shape (metrics,); ``instances`` and ``lengths`` (bytes, at most one
    more than MOST_BYTES) have shape (values,).
    """

    counts: npt.NDArray[np.int32]
    instances: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int64]
    words: Words

    def equals(self, other: "RawTexts") -> bool:
        """Whether another fetch gave the same texts of the same instances."""
        return self is other or (
            np.array_equal(self.words, other.words)
            and np.array_equal(self.lengths, other.lengths)
            and np.array_equal(self.instances, other.instances)
            and np.array_equal(self.counts, other.counts)
        )

    def texts(self) -> list[bytes]:
        """The texts as a list."""
        kept = self.words.tobytes()
        starts = 4 * (np.cumsum(_words_of(self.lengths)) - _words_of(self.lengths))
        ends = starts + self.lengths
        return [kept[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]


_NO_TEXTS = RawTexts(
    np.zeros(0, np.int32),
    np.zeros(0, np.int32),
    np.zeros(0, np.int64),
    np.zeros(0, np.uint32),
)


def decode(address: int, wide: npt.NDArray[np.bool_]) -> Raw:
    """Read the pmResult at an address; ``wide`` says which metrics have 8 bytes."""
    few = _decode_few(address, wide) if len(wide) <= _FEW else None
    return few or _decode_many(address, wide)


def _decode_few(address: int, wide: npt.NDArray[np.bool_]) -> Raw | None:
    """The same, value by value; None if there are too many for that."""
    counts: list[int] = []
    instances: list[int] = []
    bits: list[int] = []
    sets = _POINTER.iter_unpack(string_at(address + _RESULT_HEADER, 8 * len(wide)))
    for (at,), piece in zip(sets, map(_PIECES.__getitem__, wide.tolist()), strict=True):
        count, kept = _SET.unpack(string_at(at, _SET_HEADER))
        counts.append(count)
        if count > _FEW - len(bits):
            return None
        values = string_at(at + _SET_HEADER, _VALUE_BYTES * max(count, 0))
        for instance, held in _VALUE.iter_unpack(values):
            instances.append(instance)
            bits.append(
                held & 0xFFFFFFFF
                if kept == _IN_PLACE
                else piece.unpack(string_at(held, piece.size))[0]
            )
    return Raw(
        np.array(counts, np.int32),
        np.array(instances, np.int32),
        np.array(bits, np.uint64),
    )


def _decode_many(address: int, wide: npt.NDArray[np.bool_]) -> Raw:
    first = address + _RESULT_HEADER
    sets = _pointers(first + 8 * np.arange(len(wide), dtype=np.int64))
    counts = _words(sets + 4).view(np.int32)
    given = np.maximum(counts, 0)
    values = _spread(sets + _SET_HEADER, given, _VALUE_BYTES)
    in_place = np.repeat(_words(sets + 8) == _IN_PLACE, given)
    bits = _bits(values, in_place, np.repeat(wide, given))
    return Raw(counts, _words(values).view(np.int32), bits)


def decode_texts(address: int, first: int, metrics: int) -> RawTexts:
    """Read metrics that have texts as values, from place ``first`` of the fetch on."""
    if not metrics:
        return _NO_TEXTS
    places = np.arange(first, first + metrics, dtype=np.int64)
    sets = _pointers(address + _RESULT_HEADER + 8 * places)
    counts = _words(sets + 4).view(np.int32)
    # An agent may give a number for a text.
    broken = (counts > 0) & (_words(sets + 8) == _IN_PLACE)
    counts = np.where(broken, np.int32(PmStatus.CONVERSION), counts)
    values = _spread(sets + _SET_HEADER, np.maximum(counts, 0), _VALUE_BYTES)
    blocks = _pointers(values + 8)
    lengths = (_words(blocks) & 0xFFFFFF).astype(np.int64) - 4
    lengths = np.clip(lengths, 0, MOST_BYTES + 1)
    words = _words(_spread(blocks + 4, _words_of(lengths), 4))
    _blank(words, lengths)
    return RawTexts(counts, _words(values).view(np.int32), lengths, words)


def _words_of(lengths: Longs) -> Longs:
    return (lengths + 3) // 4


def _blank(words: Words, lengths: Longs) -> None:
    """Zero the bytes after a text in its last word: they do not belong to it."""
    last = np.cumsum(_words_of(lengths)) - 1
    odd = np.flatnonzero(lengths % 4)
    bits = (8 * (lengths[odd] % 4)).astype(np.uint32)
    words[last[odd]] &= (np.uint32(1) << bits) - np.uint32(1)


def _spread(starts: Longs, counts: npt.NDArray[np.int32] | Longs, stride: int) -> Longs:
    """Addresses of all items, run by run."""
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    within = np.arange(total, dtype=np.int64) - np.repeat(ends - counts, counts)
    return np.repeat(starts, counts) + stride * within


def _bits(
    values: Longs, in_place: npt.NDArray[np.bool_], wide: npt.NDArray[np.bool_]
) -> npt.NDArray[np.uint64]:
    bits = _words(values + 8).astype(np.uint64)
    blocks = np.flatnonzero(~in_place)
    data = _pointers(values[blocks] + 8) + 4
    bits[blocks] = _words(data)
    long = wide[blocks]
    bits[blocks[long]] |= _words(data[long] + 4).astype(np.uint64) << np.uint64(32)
    return bits


def _pointers(addresses: Longs) -> Longs:
    high = _words(addresses + 4).astype(np.int64) << 32
    return _words(addresses).astype(np.int64) | high


def _words(addresses: Longs) -> Words:
    if not len(addresses):
        return np.zeros(0, np.uint32)
    view, places = view_of(addresses)
    found: Words = view[places]
    return found


class _Memory:
    """Memory from an address on, for numpy."""

    def __init__(self, first: int, words: int) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (first % 2**64, True),
            "shape": (words,),
            "typestr": "<u4",
        }


def view_of(addresses: Longs) -> tuple[Words, Longs]:
    """The memory from the lowest to the highest address, and the places in it.

    The highest address of a process differs: 2^47 on x86-64, 2^48 on arm64.
    """
    first = int(addresses.min())
    places = (addresses - first) >> 2
    return np.asarray(_Memory(first, int(places.max()) + 1)), places
