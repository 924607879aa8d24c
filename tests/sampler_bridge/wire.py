"""Reads WriteRequests as sent over the wire, by the rules of protobuf alone."""

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from sampler_bridge.log.batch import START, Batch, LoggedRecord
from sampler_bridge.log.rows import DecodedRecord, LogRows
from sampler_bridge.sending.remote_write import RequestWriter, labels


class Point(NamedTuple):
    """One sample of a request."""

    labels: dict[str, str]
    value: float
    ms: int


def points(request: bytes) -> list[Point]:
    """All samples of a request, series by series."""
    return [point for field, series in fields(request) for point in _points(series)]


def named(head: bytes) -> dict[str, str]:
    """The labels of an encoded head."""
    assert {field for field, _ in fields(head)} == {1}
    return _named(content for _, content in fields(head))


def rows_of(name: str, value: float, **more: str) -> list[LogRows]:
    """Log rows of one value of one series."""
    head = labels({"__name__": name, "hostname": "n1", **more})
    return [LogRows([head], np.array([value], np.float64))]


def request(name: str, value: float, ms: int) -> bytes:
    """A request with one point."""
    (row,) = rows_of(name, value)
    read = DecodedRecord(np.zeros(1, np.uint32), row.values)
    return RequestWriter().of(
        Batch([LoggedRecord(START, ms, read)], START, 0, row.heads)
    )


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Numbers and contents of a message's fields; a varint gives its eight bytes."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, kind = divmod(tag, 8)
        if kind == 0:
            value, at = _varint(message, at)
            yield number, value.to_bytes(8, "little")
        else:
            size, at = _varint(message, at) if kind == 2 else ({1: 8}[kind], at)
            assert at + size <= len(message)
            yield number, message[at : at + size]
            at += size


def _points(series: bytes) -> Iterator[Point]:
    parts = list(fields(series))
    names = _named(content for field, content in parts if field == 1)
    for field, sample in parts:
        if field == 2:
            (_, value), (_, ms) = fields(sample)
            stamp = int.from_bytes(ms, "little")
            yield Point(names, struct.unpack("<d", value)[0], stamp)


def _named(found: Iterable[bytes]) -> dict[str, str]:
    return dict([text.decode() for _, text in fields(label)] for label in found)


def _varint(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while message[at] & 0x80:
        number |= (message[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return number | message[at] << shift, at + 1
