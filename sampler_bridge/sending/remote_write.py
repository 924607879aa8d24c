"""Batches as Prometheus' remote write wants them, without a loop per value.

A WriteRequest (protobuf) holds time series; each has labels and samples, a float64 and
a time in ms. It comes in a block of snappy. Requests that are joined make one request.
Its words: https://prometheus.io/docs/specs/prw/remote_write_spec/
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sampler_bridge.log.batch import Batch, Entry
from sampler_bridge.log.rows import Places

# A field's tag is its number and kind; these are all of length-delimited kind.
_SERIES, _LABEL, _NAME, _VALUE = b"\x0a", b"\x0a", b"\x0a", b"\x12"
# Every sample is of the same length: its time is a varint of six bytes, until 2109.
_BEFORE_VALUE, _BEFORE_TIME = b"\x12\x10\x09", b"\x10"
_SAMPLE = np.dtype([("before", "V3"), ("value", "<f8"), ("after", "V7")])
_LITERAL = b"\xfc"  # snappy: bytes as they are, their number in the next four


class _Series(NamedTuple):
    """Series by their places, and where the bytes of each one's samples end."""

    places: Places
    ends: npt.NDArray[np.int64]
    samples: bytes


class Requests:
    """Writes batches as requests; what comes before a series' samples is kept."""

    def __init__(self) -> None:
        self._heads: Sequence[bytes] = ()
        self._starts: dict[int, dict[int, bytes]] = {}

    def of(self, batch: Batch) -> bytes:
        """The samples of a batch, each series told once for all its ticks."""
        if batch.heads is not self._heads:
            self._heads, self._starts = batch.heads, {}
        series = _sorted(batch.entries)
        ends = series.ends.tolist()
        parts = [b""] * (2 * len(ends))
        parts[0::2] = self._all_starts(series)
        parts[1::2] = [series.samples[a:b] for a, b in pairwise([0, *ends])]
        return b"".join(parts)

    def _all_starts(self, series: _Series) -> list[bytes]:
        sizes = np.diff(series.ends, prepend=0).tolist()
        return [
            self._starts.get(size, {}).get(place) or self._start(place, size)
            for place, size in zip(series.places.tolist(), sizes, strict=True)
        ]

    def _start(self, place: int, size: int) -> bytes:
        start = _SERIES + _sized(self._heads[place], size)
        self._starts.setdefault(size, {})[place] = start
        return start


def _sorted(entries: Sequence[Entry]) -> _Series:
    """Entries as series: all samples of each side by side."""
    if not entries:
        return _Series(np.zeros(0, np.uint32), np.zeros(0, np.int64), b"")
    places = np.concatenate([entry.rows.places for entry in entries])
    order = np.argsort(places, kind="stable")
    places = places[order]
    lasts = np.flatnonzero(np.diff(places, append=places[-1:] + 1))
    samples = _samples(entries)[order]
    return _Series(places[lasts], (lasts + 1) * samples.itemsize, samples.tobytes())


def labels(named: Mapping[str, str]) -> bytes:
    """The labels of a series as they stand in a request."""
    return b"".join(
        _LABEL + _sized(_NAME + _sized(name.encode()) + _VALUE + _sized(text.encode()))
        for name, text in named.items()
    )


def snappy(plain: bytes) -> bytes:
    """A block that holds these bytes as they are: nothing is gained by packing them."""
    if not plain:
        return _varint(0)
    return (
        _varint(len(plain)) + _LITERAL + (len(plain) - 1).to_bytes(4, "little") + plain
    )


def _samples(entries: Sequence[Entry]) -> npt.NDArray[np.void]:
    """All samples, entry after entry."""
    written = bytearray().join(
        (_BEFORE_VALUE + bytes(8) + _BEFORE_TIME + _six(entry.tick_ms)) * entry.points
        for entry in entries
    )
    values = np.concatenate([entry.rows.values for entry in entries])
    np.frombuffer(written, _SAMPLE)["value"] = values
    return np.frombuffer(written, f"V{_SAMPLE.itemsize}")


def _sized(message: bytes, more: int = 0) -> bytes:
    """A message behind its length, of which ``more`` bytes follow."""
    return _varint(len(message) + more) + message


def _varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def _six(number: int) -> bytes:
    """A varint of six bytes, whatever it holds."""
    return bytes((number >> 7 * at) & 0x7F | (0x80 if at < 5 else 0) for at in range(6))
