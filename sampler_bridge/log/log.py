"""The queue of points on disk: an append-only log in segments, bounded in bytes.

A segment can be read without any other. Each record is one plain write into the page
cache, so what was appended outlives a ``kill -9`` of this process, though not a power
cut. Oldest segments go first when the log is full. Records that were taken stay until
``forget``, to be sent again, or until the disk has no room for new ones.
"""

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

from sampler_bridge.errors import NotLoggedError, StateError
from sampler_bridge.files import write_all
from sampler_bridge.log.batch import START, Batch, Position, Reading, Taken
from sampler_bridge.log.record import HEADER_BYTES, write_record
from sampler_bridge.log.rows import Rows, Told, points_of, tells
from sampler_bridge.log.segment import (
    Segment,
    open_segment,
    segment_numbers,
    segment_path,
)

_SEGMENT_BYTES = 8 * 1024 * 1024
_LEAST_SEGMENTS = 8  # what goes when the log is full is at most this part of it
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


class Log:
    """The log of one folder; one writer and one reader thread may share it.

    ``told`` is called after each record. ``taken`` is where the queue starts: what lies
    before was taken by an earlier process. ``failure`` is why the last record was not
    written. Raises StateError where the folder cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        max_bytes: int,
        taken: Position = START,
        segment_bytes: int = _SEGMENT_BYTES,
        told: Callable[[], None] = lambda: None,
    ) -> None:
        self.damaged = 0
        self.torn_bytes = 0
        self.taken = taken
        self.failure: OSError | None = None
        self._folder = folder
        self._max_bytes = max_bytes
        self._segment_bytes = max(
            min(segment_bytes, max_bytes // _LEAST_SEGMENTS), HEADER_BYTES
        )
        self._lock = Lock()
        self._call = told
        self._told = Told()
        self._reading = Reading()
        self._active: int | None = None
        self._is_closed = False
        self._newest = 0
        self._dropped = 0  # for the record that is written
        try:
            self._segments = self._open()
        except OSError as error:
            raise StateError(
                f"log {error.filename or folder} cannot be used ({error.strerror}): "
                "mend it, or give another --state"
            ) from error
        self._bytes = sum(segment.size for segment in self._segments)

    @property
    def waiting(self) -> int:
        """Points in the queue."""
        with self._lock:
            return sum(segment.waiting for segment in self._segments)

    @property
    def oldest_ms(self) -> int | None:
        """The tick of what waits longest; None where nothing does, or it is damaged."""
        with self._lock:
            segment = self._at(self.taken)
            here = segment and segment.number == self.taken.segment
            start = self.taken.offset if here else 0
        return segment.tick_ms(start) if segment else None

    @property
    def size_bytes(self) -> int:
        """Bytes on disk, those kept for sending again included."""
        return self._bytes

    def append(self, tick_ms: int, rows: Sequence[Rows], packed: bool = False) -> int:
        """Write a record; returns how many waiting points had to go for it.

        Raises NotLoggedError, with nothing written, where the disk does not take it,
        and after `close`.
        """
        with self._lock:
            if self._is_closed:
                raise NotLoggedError("it was closed: its host is sampled no more")
            self._dropped = 0
            try:
                self._append_in_place_of_taken(tick_ms, rows, packed)
            except OSError as error:
                self.failure = error
                cure = f"{error.strerror}: make room on its disk, or mend it"
                raise NotLoggedError(cure, self._dropped) from error
            self.failure = None
            dropped = self._dropped
        self._call()
        return dropped

    def has_more(self, position: Position) -> bool:
        """Whether there is something after a position."""
        with self._lock:
            return self._at(position) is not None

    def read(self, position: Position, max_bytes: int) -> Batch:
        """Records from a position on, of one segment, of about ``max_bytes``.

        An empty batch whose end is further on passed over what is gone or damaged.
        Raises OSError with the file's name, and nothing passed over, where the disk
        does not give it.
        """
        with self._lock:
            segment = self._at(position)
            if segment is None:
                return Batch([], position, 0)
            start = position.offset if segment.number == position.segment else 0
            size = segment.size
        try:
            descriptor = os.open(segment.path, os.O_RDONLY)
        except FileNotFoundError:  # gone meanwhile, to make room
            return Batch([], Position(segment.number, size), 1)
        if segment.number != self._reading.number:
            self._reading = Reading(segment.number)
        try:
            return self._reading.batch(descriptor, start, size, max_bytes)
        except OSError as error:
            error.filename = str(segment.path)
            raise
        finally:
            os.close(descriptor)

    def take(self, batch: Batch) -> Taken:
        """Take what a batch holds, and all before it, out of the queue.

        Points whose segment went while they were under way are ``gone``: they were
        counted as dropped.
        """
        with self._lock:
            everything = sum(entry.points for entry in batch.entries)
            fresh = sum(e.points for e in batch.entries if e.start >= self.taken)
            self.taken = max(self.taken, batch.end)
            lost = self._settle(batch.end, fresh)
        if lost is None:
            return Taken(0, everything - fresh, 0, fresh)
        return Taken(fresh, everything - fresh, lost)

    def forget(self, before: Position) -> None:
        """Delete the segments that end before a position and are dealt with."""
        with self._lock:
            while len(self._segments) > 1 and self._segments[0].number < min(
                before.segment, self.taken.segment
            ):
                self._remove_oldest()

    def close(self) -> None:
        """Close the file that is written to, and begin no other."""
        with self._lock:
            self._is_closed = True
            self._close_active()

    def _open(self) -> list[Segment]:
        self._folder.mkdir(parents=True, exist_ok=True)
        segments = []
        for number in segment_numbers(self._folder):
            segments.append(self._take_up(number))
        return segments

    def _take_up(self, number: int) -> Segment:
        done_before = self.taken.offset if number == self.taken.segment else 0
        path = segment_path(self._folder, number)
        segment, damage = open_segment(path, done_before)
        if number < self.taken.segment:
            segment.done = segment.points
        self.damaged += damage.stretches
        self.torn_bytes += damage.torn_bytes
        return segment

    def _at(self, position: Position) -> Segment | None:
        """The segment where the next record from a position on lies."""
        for segment in self._segments:
            start = position.offset if segment.number == position.segment else 0
            if segment.number >= position.segment and segment.size > start:
                return segment
        return None

    def _settle(self, end: Position, fresh: int) -> int | None:
        """Mark fresh points done; what then is left behind the end is lost."""
        for segment in self._segments:
            if segment.number == end.segment:
                segment.done += fresh
                lost = segment.waiting if end.offset >= segment.size else 0
                segment.done += lost
                return lost
        return None

    def _append_in_place_of_taken(
        self, tick_ms: int, rows: Sequence[Rows], packed: bool
    ) -> None:
        """On a disk without room, what was taken goes for what nobody has yet."""
        while True:
            try:
                return self._append(tick_ms, rows, packed)
            except OSError as error:
                if error.errno not in _NO_ROOM or not self._has_taken_oldest():
                    raise
            self._remove_oldest()

    def _has_taken_oldest(self) -> bool:
        """Whether all of the oldest segment was taken."""
        if not self._segments:
            return False
        oldest = self._segments[0]
        end = Position(oldest.number, oldest.size)
        return oldest.waiting == 0 and end <= self.taken

    def _append(self, tick_ms: int, rows: Sequence[Rows], packed: bool) -> None:
        points = points_of(rows)
        while True:
            payload = self._told.payload(rows)
            record = write_record(tick_ms, points, payload, tells(payload), packed)
            if len(record) > self._max_bytes:
                self._dropped += points
                return
            if self._fits(len(record)):
                break
            self._make_room(len(record))
        self._write(record)
        self._told.written()
        self._segments[-1].points += points

    def _fits(self, more: int) -> bool:
        return not self._is_full(more) and self._bytes + more <= self._max_bytes

    def _make_room(self, needed: int) -> None:
        """End the segment, or drop the oldest one; what is written depends on both."""
        if self._is_full(needed):
            self._close_active()
            return
        dropped = self._segments[0].waiting
        self._remove_oldest()
        self._dropped += dropped

    def _remove_oldest(self) -> None:
        """Raises OSError, with nothing removed, where the disk does not allow it."""
        oldest = self._segments[0]
        if len(self._segments) == 1:
            self._close_active()
        oldest.path.unlink(missing_ok=True)
        del self._segments[0]
        self._bytes -= oldest.size

    def _write(self, record: bytes) -> None:
        descriptor = self._roll() if self._active is None else self._active
        segment = self._segments[-1]
        try:
            write_all(descriptor, record)
        except OSError as error:
            error.filename = str(segment.path)
            self._undo(descriptor, segment.size)
            raise
        segment.size += len(record)
        self._bytes += len(record)

    def _is_full(self, more: int) -> bool:
        """Whether the segment that is written to takes no more."""
        written_to = self._active is not None
        return written_to and self._segments[-1].size + more > self._segment_bytes

    def _roll(self) -> int:
        """Start a new segment; an earlier process' one is never written to."""
        last = self._segments[-1].number if self._segments else 0
        number = max(last, self._newest, self.taken.segment) + 1
        path = segment_path(self._folder, number)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self._active = os.open(path, flags, 0o644)
        self._newest = number
        self._segments.append(Segment(path, number))
        return self._active

    def _undo(self, descriptor: int, size: int) -> None:
        try:
            os.ftruncate(descriptor, size)
        except OSError:  # readers stop at the size we know; write elsewhere from now
            self._close_active()

    def _close_active(self) -> None:
        if self._active is not None:
            descriptor, self._active, self._told = self._active, None, Told()
            os.close(descriptor)
