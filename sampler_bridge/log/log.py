"""The queue of points on disk: an append-only log in segments, bounded in bytes.

Each record is one write into the page cache: it survives a ``kill -9``, but not a power
cut. A full log deletes its oldest segments. The store *takes* a record by acknowledging
or refusing it; taken records stay for resending until ``forget`` or a full disk.
"""

import errno
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

from sampler_bridge.errors import NotLoggedError, StateError
from sampler_bridge.log.batch import START, Batch, BatchOutcome, Position, SegmentReader
from sampler_bridge.log.earlier import open_closed
from sampler_bridge.log.live import LiveSegment, Record, move
from sampler_bridge.log.record import HEADER_BYTES, write_record
from sampler_bridge.log.rows import LogRows, SeriesEncoder, has_heads, points_of
from sampler_bridge.log.segment import Segment, segment_path

_LOG = logging.getLogger(__name__)

_SEGMENT_BYTES = 8 * 1024 * 1024
_LEAST_SEGMENTS = 8  # a full log drops one segment: at most 1/8 of its bytes
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


class Log:
    """The log of one folder; one writer and one reader thread may share it.

    ``notify`` is called after each record. The queue starts at ``taken``. ``failure``
    is why the last record was not written, ``replaced`` counts how often another
    process changed the live segment. Raises StateError if the folder is unusable.
    """

    def __init__(
        self,
        folder: Path,
        max_bytes: int,
        taken: Position = START,
        segment_bytes: int = _SEGMENT_BYTES,
        notify: Callable[[], None] = lambda: None,
    ) -> None:
        self.replaced = 0
        self.taken = taken
        self.failure: OSError | None = None
        self._folder = folder
        self._max_bytes = max_bytes
        self._segment_bytes = max(
            min(segment_bytes, max_bytes // _LEAST_SEGMENTS), HEADER_BYTES
        )
        self._lock = Lock()
        self._call = notify
        self._encoder = SeriesEncoder()
        self._reading = SegmentReader()
        self._live: LiveSegment | None = None
        self._left: LiveSegment | None = None  # damaged, not yet continued in a new one
        self._moved = Position(-1, 0)  # where the records that moved started
        self._is_closed = False
        self._newest = 0
        self._dropped = 0  # points dropped for the current record
        try:
            earlier = open_closed(folder, taken)
        except OSError as error:
            raise StateError(
                f"log {error.filename or folder} cannot be used ({error.strerror}): "
                "fix it, or give another --state"
            ) from error
        self._segments, self.damaged, self.torn_bytes = earlier
        self._bytes = sum(segment.size for segment in self._segments)

    @property
    def waiting(self) -> int:
        """The number of points in the queue."""
        with self._lock:
            return sum(segment.waiting for segment in self._segments)

    @property
    def oldest_ms(self) -> int | None:
        """Tick of the oldest waiting record; None if none waits or it is damaged."""
        with self._lock:
            segment = self._at(self.taken)
            here = segment and segment.number == self.taken.segment
            start = self.taken.offset if here else 0
        return segment.tick_ms(start) if segment else None

    @property
    def size_bytes(self) -> int:
        """Bytes on disk, including records that were taken."""
        return self._bytes

    def append(
        self, tick_ms: int, rows: Sequence[LogRows], packed: bool = False
    ) -> int:
        """Write a record; return how many waiting points were dropped to make room.

        Raises NotLoggedError if the disk is full or the log closed; nothing is written.
        """
        with self._lock:
            if self._is_closed:
                raise NotLoggedError("it is closed: its host is no longer sampled")
            self._dropped = 0
            self._check_live()
            try:
                self._append_in_place_of_taken(tick_ms, rows, packed)
            except OSError as error:
                self.failure = error
                reason = f"{error.strerror}: make room on its disk, or fix it"
                raise NotLoggedError(reason, self._dropped) from error
            self.failure = None
            dropped = self._dropped
        self._call()
        return dropped

    def has_more(self, position: Position) -> bool:
        """Whether there are records after a position."""
        with self._lock:
            return self._at(position) is not None

    def read(self, position: Position, max_bytes: int) -> Batch:
        """Read about ``max_bytes`` of records of one segment from a position on.

        An empty batch with a later end skips missing or damaged records. Raises OSError
        with the file's name if the disk cannot be read.
        """
        with self._lock:
            self._continue_live()
            segment = self._at(position)
            if segment is None:
                return Batch([], position, 0)
            start = position.offset if segment.number == position.segment else 0
            size = segment.size
        if segment.number != self._reading.number:
            self._reading = SegmentReader(segment.number)
        batch = self._reading.batch(segment.path, start, size, max_bytes)
        if batch.unreadable:
            with self._lock:
                if self._continue_live() == segment.number:
                    return Batch([], position, 0)
        return batch

    def take(self, batch: Batch) -> BatchOutcome:
        """Remove a batch, and everything before it, from the queue.

        Points are ``gone`` if a full log has dropped their segment, and counted them.
        """
        with self._lock:
            everything = sum(entry.points for entry in batch.entries)
            fresh = sum(e.points for e in batch.entries if self._is_fresh(e.start))
            self.taken = max(self.taken, batch.end)
            lost = self._settle(batch.end, fresh)
        if lost is None:
            return BatchOutcome(0, everything - fresh, 0, fresh)
        return BatchOutcome(fresh, everything - fresh, lost)

    def forget(self, before: Position) -> None:
        """Delete the segments before a position that hold no waiting records."""
        with self._lock:
            while len(self._segments) > 1 and self._segments[0].number < min(
                before.segment, self.taken.segment
            ):
                self._remove_oldest()
            if self._live:
                self._live.forget(min(before, self.taken))

    def close(self) -> None:
        """Close the live file, and accept no more records."""
        with self._lock:
            self._is_closed = True
            self._close_live()

    def _at(self, position: Position) -> Segment | None:
        """The segment that holds the next record from a position on."""
        for segment in self._segments:
            start = position.offset if segment.number == position.segment else 0
            if segment.number >= position.segment and segment.size > start:
                return segment
        return None

    def _is_fresh(self, start: Position) -> bool:
        """Whether a record read at ``start`` is in the queue and was not moved."""
        moved = start.segment == self._moved.segment and start >= self._moved
        return start >= self.taken and not moved

    def _settle(self, end: Position, fresh: int) -> int | None:
        """Mark fresh points as done; return what is lost at the end of the segment.

        Returns None if the segment was deleted.
        """
        for segment in self._segments:
            if segment.number == end.segment:
                segment.done += fresh
                lost = segment.waiting if end.offset >= segment.size else 0
                segment.done += lost
                return lost
        return None

    def _append_in_place_of_taken(
        self, tick_ms: int, rows: Sequence[LogRows], packed: bool
    ) -> None:
        """Append a record; on a full disk, delete taken segments to make room."""
        while True:
            try:
                return self._append(tick_ms, rows, packed)
            except OSError as error:
                if error.errno not in _NO_ROOM or not self._has_taken_oldest():
                    raise
            self._remove_oldest()

    def _has_taken_oldest(self) -> bool:
        """Whether the oldest segment was taken completely."""
        if not self._segments:
            return False
        oldest = self._segments[0]
        end = Position(oldest.number, oldest.size)
        return oldest.waiting == 0 and end <= self.taken

    def _append(self, tick_ms: int, rows: Sequence[LogRows], packed: bool) -> None:
        points = points_of(rows)
        while True:
            payload = self._encoder.payload(rows)
            record = write_record(tick_ms, points, payload, has_heads(payload), packed)
            if len(record) > self._max_bytes:
                self._dropped += points
                return
            if self._fits(len(record)):
                break
            self._make_room(len(record))
        self._write(record, points)
        self._encoder.written()

    def _fits(self, more: int) -> bool:
        return not self._is_full(more) and self._bytes + more <= self._max_bytes

    def _make_room(self, needed: int) -> None:
        """Close the live segment or drop the oldest: then encode the payload again."""
        if self._is_full(needed):
            self._close_live()
            return
        dropped = self._segments[0].waiting
        self._remove_oldest()
        self._dropped += dropped

    def _remove_oldest(self) -> None:
        """Delete the oldest segment; raises OSError, with nothing removed."""
        oldest = self._segments[0]
        if len(self._segments) == 1:
            self._close_live()
        with suppress(IsADirectoryError):  # another process replaced it
            oldest.path.unlink(missing_ok=True)
        del self._segments[0]
        self._bytes -= oldest.size

    def _is_full(self, more: int) -> bool:
        """Whether the live segment has no room for ``more`` bytes."""
        live = self._live
        return live is not None and live.segment.size + more > self._segment_bytes

    def _write(self, record: bytes, points: int) -> None:
        live = self._live or self._begin()
        live.append(Record(record, points))
        self._bytes += len(record)

    def _begin(self) -> LiveSegment:
        """Start a new segment; segments of earlier processes are never appended to."""
        last = self._segments[-1].number if self._segments else 0
        number = max(last, self._newest, self.taken.segment) + 1
        live = LiveSegment(segment_path(self._folder, number), number)
        if self._left:
            self._move(self._left, live)
        self._left, self._live, self._newest = None, live, number
        self._segments.append(live.segment)
        return live

    def _check_live(self) -> None:
        """Close the live segment if another process damaged its file."""
        live = self._live
        if live is None or (damage := live.damage) is None:
            return
        self.replaced += 1
        _LOG.error(
            "log %s was %s by another process: its last %d records go to a new file",
            live.segment.path,
            damage,
            len(live.copied),
        )
        left = live if live.copied else None
        self._close_live(keep_series=bool(left))
        self._left = left

    def _continue_live(self) -> int | None:
        """Continue a damaged segment in a new one; return the damaged one's number.

        Returns None if no segment is damaged.
        """
        self._check_live()
        left = self._left
        if left is None:
            return None
        self._begin()
        return left.segment.number

    def _move(self, old: LiveSegment, new: LiveSegment) -> None:
        size = old.segment.size
        try:
            self.taken = move(old, new, self._encoder, self.taken)
        except OSError:
            new.discard()
            raise
        self._moved = Position(old.segment.number, old.segment.size)
        self._bytes += new.segment.size + old.segment.size - size

    def _close_live(self, keep_series: bool = False) -> None:
        if self._live:
            self._live.close()
        self._live = self._left = None
        if not keep_series:
            self._encoder = SeriesEncoder()
