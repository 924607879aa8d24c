"""Positions in the log, and the records read from there."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sampler_bridge.log.record import HEADER_BYTES, read_payload
from sampler_bridge.log.rows import DecodedRecord, SeriesDecoder
from sampler_bridge.log.segment import header_at, read_at, sound_offset


class Position(NamedTuple):
    """A position in the log; later positions compare greater."""

    segment: int
    offset: int


START = Position(0, 0)


class LoggedRecord(NamedTuple):
    """A record as read: its position, its tick, and its values with their places.

    Values of series that a damaged record declared are left out.
    """

    start: Position
    tick_ms: int
    rows: DecodedRecord

    @property
    def points(self) -> int:
        """The number of values."""
        return len(self.rows.values)


class Batch(NamedTuple):
    """Consecutive records of one segment; ``unreadable`` counts damaged stretches.

    ``heads`` holds the heads of the segment's series by place. It is the same object in
    all batches that one `SegmentReader` gives.
    """

    entries: list[LoggedRecord]
    end: Position
    unreadable: int
    heads: Sequence[bytes] = ()


class BatchOutcome(NamedTuple):
    """The points of a batch, by outcome.

    ``fresh`` points were in the queue. ``again`` had left it: they were sent once more.
    ``lost`` points are unreadable. ``gone`` were in the queue, but a full log dropped
    them while they were being sent.
    """

    fresh: int
    again: int
    lost: int
    gone: int = 0


class SegmentReader:
    """Reads one segment, given by its number, batch by batch."""

    def __init__(self, number: int = -1) -> None:
        self.number = number
        self._heads = SeriesDecoder()
        self._known_to = 0

    def batch(self, path: Path, start: int, size: int, max_bytes: int) -> Batch:
        """Read about ``max_bytes`` of records from ``start`` on.

        A missing file is skipped. Raises OSError with the file's name.
        """
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return Batch([], Position(self.number, size), 1)
        try:
            return self._batch(descriptor, start, size, max_bytes)
        except OSError as error:
            error.filename = str(path)
            raise
        finally:
            os.close(descriptor)

    def _batch(self, descriptor: int, start: int, size: int, max_bytes: int) -> Batch:
        self._catch_up(descriptor, start)
        entries: list[LoggedRecord] = []
        at, total, unreadable = start, 0, 0
        while at < size and total < max_bytes:
            payload, tick_ms, end = _payload(descriptor, at, size)
            if payload is None:
                unreadable += 1
            else:
                rows = self._heads.read(payload)
                entries.append(LoggedRecord(Position(self.number, at), tick_ms, rows))
                total += len(payload)
            at = end
        self._known_to = max(self._known_to, at)
        end_position = Position(self.number, at)
        return Batch(entries, end_position, unreadable, self._heads.known)

    def _catch_up(self, descriptor: int, start: int) -> None:
        """Learn the series that are declared before an offset."""
        at = self._known_to
        while at < start:
            header = header_at(descriptor, at)
            if header is None or header.tells:
                payload, _, at = _payload(descriptor, at, start)
                if payload is not None:
                    self._heads.learn(payload)
            else:
                at += header.record_bytes
        self._known_to = max(self._known_to, start)


class _PayloadAt(NamedTuple):
    """A payload and where its record ends; the payload is None if it is unreadable."""

    payload: bytes | None
    tick_ms: int
    end: int


def _payload(descriptor: int, at: int, size: int) -> _PayloadAt:
    header = header_at(descriptor, at)
    if header is None or at + header.record_bytes > size:
        return _PayloadAt(None, 0, sound_offset(descriptor, at, size))
    body = read_at(descriptor, at + HEADER_BYTES, header.length)
    end = at + header.record_bytes
    return _PayloadAt(read_payload(header, body), header.tick_ms, end)
