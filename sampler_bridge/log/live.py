"""The segment that receives new records, with a copy of its last records in memory.

Another process may delete, truncate or replace the file. The queue then continues with
the copy in a new segment.
"""

import os
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from core.linux.files import write_all
from sampler_bridge.log.batch import Position
from sampler_bridge.log.record import (
    HEADER_BYTES,
    read_header,
    read_payload,
    write_record,
)
from sampler_bridge.log.rows import SeriesEncoder, first_series_number
from sampler_bridge.log.segment import Segment

_MOST_COPIED = 2 * 1024 * 1024  # bytes of records per host


class Record(NamedTuple):
    """An encoded record, and how many points it has."""

    content: bytes
    points: int


class WrittenRecord(NamedTuple):
    """A written record, and where it starts in its segment."""

    start: int
    record: Record


class LiveSegment:
    """A new file of the log, open for appending; raises OSError if it cannot be made.

    ``segment`` describes the file, ``copied`` holds its last records.
    """

    def __init__(self, path: Path, number: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self._descriptor = os.open(path, flags, 0o600)
        found = os.fstat(self._descriptor)
        self._file = found.st_dev, found.st_ino
        self.segment = Segment(path, number)
        self.copied: deque[WrittenRecord] = deque()
        self._copied_bytes = 0

    @property
    def damage(self) -> str | None:
        """What another process did to the file; None if the file is unchanged."""
        try:
            found = self.segment.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return "deleted"
        except OSError:  # the next write or read reports the error
            return None
        if (found.st_dev, found.st_ino) != self._file:
            return "replaced"
        if found.st_size != self.segment.size:
            return f"changed from {self.segment.size} to {found.st_size} bytes"
        return None

    def append(self, *records: Record) -> None:
        """Write records in one call; raises OSError, with nothing written."""
        segment = self.segment
        try:
            write_all(self._descriptor, b"".join(one.content for one in records))
        except OSError as error:
            error.filename = str(segment.path)
            # If this fails, readers still stop at the known size, and `damage` detects
            # the rest.
            with suppress(OSError):
                os.ftruncate(self._descriptor, segment.size)
            raise
        for record in records:
            self._copy(WrittenRecord(segment.size, record))
            segment.size += len(record.content)
            segment.points += record.points

    def forget(self, before: Position) -> None:
        """Drop the copies of records before a position, which are not needed again."""
        while self.copied and self._at(self.copied[0]) < before:
            self._copied_bytes -= len(self.copied.popleft().record.content)

    def done_until(self, taken: Position) -> int:
        """The number of copied records before a position."""
        return len(list(takewhile(lambda one: self._at(one) < taken, self.copied)))

    def leave(self) -> None:
        """Cut the moved records off the file.

        Delete the file if nothing is left, or if another process put it there.
        """
        path, size = self.segment.path, self.segment.size
        with suppress(OSError):
            found = path.stat()
            if size and (found.st_dev, found.st_ino) == self._file:
                os.truncate(path, min(size, found.st_size))
            else:
                path.unlink()

    def discard(self) -> None:
        """Delete the file, which is not part of the log yet."""
        self.close()
        with suppress(OSError):
            self.segment.path.unlink()

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _at(self, copied: WrittenRecord) -> Position:
        return Position(self.segment.number, copied.start)

    def _copy(self, copied: WrittenRecord) -> None:
        self.copied.append(copied)
        self._copied_bytes += len(copied.record.content)
        while self._copied_bytes > _MOST_COPIED and len(self.copied) > 1:
            self._copied_bytes -= len(self.copied.popleft().record.content)


def move(
    old: LiveSegment, new: LiveSegment, encoder: SeriesEncoder, taken: Position
) -> Position:
    """Move the copied records of one segment to a new one; raises OSError.

    ``encoder`` holds the series of the old segment. Returns the new start of the queue,
    which was at ``taken``.
    """
    done = old.done_until(taken)
    records = [copied.record for copied in old.copied]
    first = _series(records[0], encoder)
    new.append(*first, *records)
    behind = sum(len(record.content) for record in records[done:])
    _move_counts(old.segment, new.segment)
    old.segment.size = old.copied[0].start
    old.leave()
    if old.segment.waiting:  # records without a copy
        return taken
    return Position(new.segment.number, new.segment.size - behind)


def _series(first: Record, encoder: SeriesEncoder) -> Sequence[Record]:
    """A record that declares the series declared before ``first``, if there are any."""
    header = read_header(first.content)
    payload = header and read_payload(header, first.content[HEADER_BYTES:])
    if not (header and payload and (before := first_series_number(payload))):
        return ()
    heads = encoder.heads_before(before)
    return (Record(write_record(header.tick_ms, 0, heads, True, False), 0),)


def _move_counts(old: Segment, new: Segment) -> None:
    """Move the counts of the moved points; those that waited still wait."""
    new.done = new.points - min(old.waiting, new.points)
    old.points -= new.points
    old.done -= new.done
