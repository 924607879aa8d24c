"""Places in the log, and the records read from there."""

import os
from typing import NamedTuple

from sampler_bridge.log.record import HEADER_BYTES, read_payload
from sampler_bridge.log.segment import header_at, sound_offset


class Position(NamedTuple):
    """A place in the log; later places compare greater."""

    segment: int
    offset: int


START = Position(0, 0)


class Entry(NamedTuple):
    """A record as read: where it lies, how many points, its lines."""

    start: Position
    points: int
    payload: bytes


class Batch(NamedTuple):
    """Records of one segment in a row; ``unreadable`` counts damaged stretches."""

    entries: list[Entry]
    end: Position
    unreadable: int


class Taken(NamedTuple):
    """What became of a batch's points: the queue's, sent before, unreadable.

    `gone` are the queue's too, but were dropped from the log while under way.
    """

    fresh: int
    again: int
    lost: int
    gone: int = 0


def read_batch(
    descriptor: int, number: int, start: int, size: int, max_bytes: int
) -> Batch:
    """Records of an open segment from ``start`` on, of about ``max_bytes``."""
    entries: list[Entry] = []
    at, total, unreadable = start, 0, 0
    while at < size and total < max_bytes:
        header = header_at(descriptor, at)
        if header is None or at + header.record_bytes > size:
            unreadable += 1
            at = sound_offset(descriptor, at, size)
            continue
        body = os.pread(descriptor, header.length, at + HEADER_BYTES)
        payload = read_payload(header, body)
        if payload is None:
            unreadable += 1
        else:
            entries.append(Entry(Position(number, at), header.points, payload))
            total += len(payload)
        at += header.record_bytes
    return Batch(entries, Position(number, at), unreadable)
