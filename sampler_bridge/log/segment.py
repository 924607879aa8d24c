"""One file of the log, and what is known about it without reading it again."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sampler_bridge.log.record import (
    HEADER_BYTES,
    RecordHeader,
    find_header,
    read_header,
    scan,
)

SUFFIX = ".log"
_NUMBER = re.compile("[0-9]{20}")


@dataclass
class Segment:
    """A file of records; ``size`` in bytes reaches to the end of the last sound record.

    ``points`` counts all its points, ``done`` those that left the queue: acknowledged,
    refused or unreadable.
    """

    path: Path
    number: int
    size: int = 0
    points: int = 0
    done: int = 0
    _read: tuple[int, int] = (-1, 0)  # the offset of the last tick that was read

    @property
    def waiting(self) -> int:
        """Points that are still in the queue."""
        return self.points - self.done

    def tick_ms(self, offset: int) -> int | None:
        """The tick of the record at an offset; None if it cannot be read."""
        if self._read[0] == offset:
            return self._read[1]
        try:
            with self.path.open("rb") as file:
                header = header_at(file.fileno(), offset)
        except OSError:
            return None
        if header is None:
            return None
        self._read = offset, header.tick_ms
        return header.tick_ms


def segment_path(folder: Path, number: int) -> Path:
    """The path of a segment; names sort like numbers."""
    return folder / f"{number:020d}{SUFFIX}"


def segment_numbers(folder: Path) -> list[int]:
    """Numbers of the segments in a folder, oldest first."""
    names = (path.stem for path in folder.glob(f"*{SUFFIX}"))
    return sorted(int(name) for name in names if _NUMBER.fullmatch(name))


class Damage(NamedTuple):
    """Damage that was found: stretches skipped, and bytes cut off the end."""

    stretches: int
    torn_bytes: int


def open_segment(path: Path, done_before: int) -> tuple[Segment, Damage]:
    """Open a segment that an earlier process wrote; raises OSError with its name.

    An incomplete last write is removed from the file. Points of records before the
    offset ``done_before`` count as done.
    """
    segment = Segment(path, int(path.stem))
    content = _content(path)
    stretches = _walk(segment, content, done_before)
    torn = len(content) - segment.size
    if torn:
        os.truncate(path, segment.size)
    return segment, Damage(stretches - bool(torn), torn)


def _content(path: Path) -> bytes:
    """Read the whole file; with mmap, a bad disk block would kill the process."""
    try:
        return path.read_bytes()
    except OSError as error:
        error.filename = str(path)
        raise


def _walk(segment: Segment, content: bytes, done_before: int) -> int:
    stretches = 0
    for start, end, header in scan(content):
        if header is None:
            stretches += 1
            continue
        segment.size = end
        segment.points += header.points
        segment.done += header.points if start < done_before else 0
    return stretches


def read_at(descriptor: int, offset: int, length: int) -> bytes:
    """Read ``length`` bytes from an open file, or up to its end; raises OSError.

    The system also returns fewer bytes before a block that it cannot read; the next
    read then fails.
    """
    found = os.pread(descriptor, length, offset)
    while len(found) < length:
        more = os.pread(descriptor, length - len(found), offset + len(found))
        if not more:
            break
        found += more
    return found


def header_at(descriptor: int, offset: int) -> RecordHeader | None:
    """The header of the record at an offset of an open file."""
    return read_header(read_at(descriptor, offset, HEADER_BYTES))


def sound_offset(descriptor: int, offset: int, size: int) -> int:
    """The offset of the next sound header after a damaged stretch, or ``size``.

    The file may have become shorter than ``size``.
    """
    rest = read_at(descriptor, offset, size - offset)
    found = find_header(rest, 1)
    return offset + found if found < len(rest) else size
