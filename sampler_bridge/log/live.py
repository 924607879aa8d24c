"""The segment that records are appended to, with a copy of its last records in memory.

Another process may delete, truncate or replace the file. The copy then continues the
queue in a new segment.
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
from sampler_bridge.log.rows import Told, told_before
from sampler_bridge.log.segment import Segment

_MOST_COPIED = 2 * 1024 * 1024  # bytes of records, for each host


class Record(NamedTuple):
    """A record as it is written, and how many points it has."""

    content: bytes
    points: int


class Copied(NamedTuple):
    """A record that was written, and where it starts in its segment."""

    start: int
    record: Record


class LiveSegment:
    """A new file of the log, open for appending; raises OSError where none can be made.

    ``segment`` is what the log knows of the file, ``copied`` its last records.
    """

    def __init__(self, path: Path, number: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self._descriptor = os.open(path, flags, 0o600)
        found = os.fstat(self._descriptor)
        self._file = found.st_dev, found.st_ino
        self.segment = Segment(path, number)
        self.copied: deque[Copied] = deque()
        self._copied_bytes = 0

    @property
    def damage(self) -> str | None:
        """What another process did to the file; None where it is as it was written."""
        try:
            found = self.segment.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return "deleted"
        except OSError:  # the next write or read says what is wrong
            return None
        if (found.st_dev, found.st_ino) != self._file:
            return "replaced"
        if found.st_size != self.segment.size:
            return f"changed from {self.segment.size} to {found.st_size} bytes"
        return None

    def append(self, *records: Record) -> None:
        """Write records at once; raises OSError, with nothing written."""
        segment = self.segment
        try:
            write_all(self._descriptor, b"".join(one.content for one in records))
        except OSError as error:
            error.filename = str(segment.path)
            # Readers stop at the size that is known, and `damage` finds what is beyond.
            with suppress(OSError):
                os.ftruncate(self._descriptor, segment.size)
            raise
        for record in records:
            self._copy(Copied(segment.size, record))
            segment.size += len(record.content)
            segment.points += record.points

    def forget(self, before: Position) -> None:
        """Drop the copies of records before a position: nobody needs them again."""
        while self.copied and self._at(self.copied[0]) < before:
            self._copied_bytes -= len(self.copied.popleft().record.content)

    def done_until(self, taken: Position) -> int:
        """How many of the copied records lie before a position."""
        return len(list(takewhile(lambda one: self._at(one) < taken, self.copied)))

    def leave(self) -> None:
        """Cut off what was copied elsewhere; a file that is not ours goes."""
        path, size = self.segment.path, self.segment.size
        with suppress(OSError):
            found = path.stat()
            if size and (found.st_dev, found.st_ino) == self._file:
                os.truncate(path, min(size, found.st_size))
            else:
                path.unlink()

    def discard(self) -> None:
        """Remove the file, which nobody knows yet."""
        self.close()
        with suppress(OSError):
            self.segment.path.unlink()

    def close(self) -> None:
        """Append no more."""
        os.close(self._descriptor)

    def _at(self, copied: Copied) -> Position:
        return Position(self.segment.number, copied.start)

    def _copy(self, copied: Copied) -> None:
        self.copied.append(copied)
        self._copied_bytes += len(copied.record.content)
        while self._copied_bytes > _MOST_COPIED and len(self.copied) > 1:
            self._copied_bytes -= len(self.copied.popleft().record.content)


def move(old: LiveSegment, new: LiveSegment, told: Told, taken: Position) -> Position:
    """Move the copied records of one segment to a new one; raises OSError.

    ``told`` are the series of the old segment. Returns where the queue starts now,
    which was at ``taken``.
    """
    done = old.done_until(taken)
    records = [copied.record for copied in old.copied]
    first = _series(records[0], told)
    new.append(*first, *records)
    behind = sum(len(record.content) for record in records[done:])
    _move_counts(old.segment, new.segment)
    old.segment.size = old.copied[0].start
    old.leave()
    if old.segment.waiting:  # records that are not copied any more
        return taken
    return Position(new.segment.number, new.segment.size - behind)


def _series(first: Record, told: Told) -> Sequence[Record]:
    """The series that were told before a record, for a segment that begins with it."""
    header = read_header(first.content)
    payload = header and read_payload(header, first.content[HEADER_BYTES:])
    if not (header and payload and (before := told_before(payload))):
        return ()
    heads = told.heads_before(before)
    return (Record(write_record(header.tick_ms, 0, heads, True, False), 0),)


def _move_counts(old: Segment, new: Segment) -> None:
    """Of the moved points those wait that waited before, as many as there are."""
    new.done = new.points - min(old.waiting, new.points)
    old.points -= new.points
    old.done -= new.done
