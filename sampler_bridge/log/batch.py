"""Places in the log, and the records read from there."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sampler_bridge.log.record import HEADER_BYTES, read_payload
from sampler_bridge.log.rows import Heads, Read
from sampler_bridge.log.segment import header_at, read_at, sound_offset


class Position(NamedTuple):
    """A place in the log; later places compare greater."""

    segment: int
    offset: int


START = Position(0, 0)


class Entry(NamedTuple):
    """A record as read: where it lies, its tick, its values and their series' places.

    Those of series that a damaged record told are not there.
    """

    start: Position
    tick_ms: int
    rows: Read

    @property
    def points(self) -> int:
        """How many values there are."""
        return len(self.rows.values)


class Batch(NamedTuple):
    """Records of one segment in a row; ``unreadable`` counts damaged stretches.

    ``heads`` are those of the segment's series by their places, the same object for
    as long as it is read on.
    """

    entries: list[Entry]
    end: Position
    unreadable: int
    heads: Sequence[bytes] = ()


class Taken(NamedTuple):
    """What became of a batch's points: the queue's, sent before, unreadable.

    `gone` are the queue's too, but were dropped from the log while under way.
    """

    fresh: int
    again: int
    lost: int
    gone: int = 0


class Reading:
    """A segment that is read on from batch to batch, by its number."""

    def __init__(self, number: int = -1) -> None:
        self.number = number
        self._heads = Heads()
        self._known_to = 0

    def batch(self, path: Path, start: int, size: int, max_bytes: int) -> Batch:
        """Records of its file from ``start`` on, of about ``max_bytes``.

        A file that is gone is passed over. Raises OSError with the file's name.
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
        entries: list[Entry] = []
        at, total, unreadable = start, 0, 0
        while at < size and total < max_bytes:
            payload, tick_ms, end = _payload(descriptor, at, size)
            if payload is None:
                unreadable += 1
            else:
                rows = self._heads.read(payload)
                entries.append(Entry(Position(self.number, at), tick_ms, rows))
                total += len(payload)
            at = end
        self._known_to = max(self._known_to, at)
        end_position = Position(self.number, at)
        return Batch(entries, end_position, unreadable, self._heads.known)

    def _catch_up(self, descriptor: int, start: int) -> None:
        """Learn the series that are told before a place."""
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


class _Found(NamedTuple):
    """What lies at a place: a payload, or none that can be read; and where it ends."""

    payload: bytes | None
    tick_ms: int
    end: int


def _payload(descriptor: int, at: int, size: int) -> _Found:
    header = header_at(descriptor, at)
    if header is None or at + header.record_bytes > size:
        return _Found(None, 0, sound_offset(descriptor, at, size))
    body = read_at(descriptor, at + HEADER_BYTES, header.length)
    end = at + header.record_bytes
    return _Found(read_payload(header, body), header.tick_ms, end)
