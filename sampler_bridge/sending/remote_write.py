"""Encodes batches for Prometheus remote write, without a loop per value.

A WriteRequest (protobuf) holds time series; each has labels and samples, a float64 and
a time in ms. It is sent as a block of snappy. Concatenated requests are one request.
Specification: https://prometheus.io/docs/specs/prw/remote_write_spec/
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.protobuf import sized, varint
from sampler_bridge.log.batch import Batch, LoggedRecord
from sampler_bridge.log.rows import Places

# A field's tag is its number and wire type; all of these are length-delimited.
_SERIES, _LABEL, _NAME, _VALUE = b"\x0a", b"\x0a", b"\x0a", b"\x12"
# All samples have the same length: the time is a varint of six bytes, until 2109.
_BEFORE_VALUE, _BEFORE_TIME = b"\x12\x10\x09", b"\x10"
_SAMPLE = np.dtype([("before", "V3"), ("value", "<f8"), ("after", "V7")])
_LITERAL = b"\xfc"  # snappy: literal bytes, their number in the next four


class _Series(NamedTuple):
    """Series by their places, and where the samples of each one end, in bytes."""

    places: Places
    ends: npt.NDArray[np.int64]
    samples: bytes


class RequestWriter:
    """Encodes batches as requests; the lengths of the series' heads are kept."""

    def __init__(self) -> None:
        self._heads: Sequence[bytes] = ()
        self._lengths = np.zeros(0, np.int64)

    def of(self, batch: Batch) -> bytes:
        """Encode a batch, with the labels of each series once for all its ticks."""
        series = _sorted(batch.entries)
        ends = series.ends.tolist()
        sizes = self._of_heads(batch.heads)[series.places]
        sizes += np.diff(series.ends, prepend=0)
        parts = [b""] * (3 * len(ends))
        parts[0::3] = map(_series_prefix, sizes.tolist())
        parts[1::3] = map(batch.heads.__getitem__, series.places.tolist())
        parts[2::3] = [series.samples[a:b] for a, b in pairwise([0, *ends])]
        return b"".join(parts)

    def _of_heads(self, heads: Sequence[bytes]) -> npt.NDArray[np.int64]:
        """The length of each head; heads are added as a segment is read on."""
        if heads is not self._heads:
            self._heads, self._lengths = heads, np.zeros(0, np.int64)
        if len(heads) > len(self._lengths):
            self._lengths = np.fromiter(map(len, heads), np.int64, len(heads))
        return self._lengths


@lru_cache(maxsize=4096)  # few different lengths occur
def _series_prefix(size: int) -> bytes:
    """The bytes that precede a series of this size."""
    return _SERIES + varint(size)


def _sorted(entries: Sequence[LoggedRecord]) -> _Series:
    """Group entries by series: all samples of each one side by side."""
    if not entries:
        return _Series(np.zeros(0, np.uint32), np.zeros(0, np.int64), b"")
    places = np.concatenate([entry.rows.places for entry in entries])
    order = np.argsort(places, kind="stable")
    places = places[order]
    lasts = np.flatnonzero(np.diff(places, append=places[-1:] + 1))
    samples = _samples(entries)[order]
    return _Series(places[lasts], (lasts + 1) * samples.itemsize, samples.tobytes())


def labels(named: Mapping[str, str]) -> bytes:
    """Encode the labels of a series."""
    return b"".join(
        _LABEL + sized(_NAME + sized(name.encode()) + _VALUE + sized(text.encode()))
        for name, text in named.items()
    )


def cut(request: bytes, most: int) -> Iterator[bytes]:
    """Split a request into parts of at most ``most`` bytes, or of one longer series."""
    start = at = 0
    while len(request) - start > most and at < len(request):
        end = _series_end(request, at)
        if end - start > most and at > start:
            yield request[start:at]
            start = at
        at = end
    if start < len(request):
        yield request[start:]


def snappy_literal_header(length: int) -> bytes:
    """The prefix that makes ``length`` literal bytes a block of snappy.

    Compressing them would gain nothing.
    """
    if not length:
        return varint(0)
    return varint(length) + _LITERAL + (length - 1).to_bytes(4, "little")


def _samples(entries: Sequence[LoggedRecord]) -> npt.NDArray[np.void]:
    """All samples, entry by entry."""
    written = bytearray().join(
        (_BEFORE_VALUE + bytes(8) + _BEFORE_TIME + _varint_of_six_bytes(entry.tick_ms))
        * entry.points
        for entry in entries
    )
    values = np.concatenate([entry.rows.values for entry in entries])
    np.frombuffer(written, _SAMPLE)["value"] = values
    return np.frombuffer(written, f"V{_SAMPLE.itemsize}")


def _series_end(request: bytes, at: int) -> int:
    """Where the series that begins at ``at`` ends."""
    size, shift, at = 0, 0, at + len(_SERIES)
    while request[at] > 0x7F:
        size |= (request[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
    return at + 1 + (size | request[at] << shift)


def _varint_of_six_bytes(number: int) -> bytes:
    """Encode a number as a varint of exactly six bytes."""
    return bytes((number >> 7 * at) & 0x7F | (0x80 if at < 5 else 0) for at in range(6))
