"""One file of the log, and what is known of it without reading it again."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sampler_bridge.log.record import (
    HEADER_BYTES,
    Header,
    find_header,
    read_header,
    scan,
)

SUFFIX = ".log"
_NUMBER = re.compile("[0-9]{20}")


@dataclass
class Segment:
    """A file of records; ``size`` in bytes counts sound records and what is between.

    ``points`` are all its points, ``done`` those that left the queue: acknowledged,
    refused or unreadable.
    """

    path: Path
    number: int
    size: int = 0
    points: int = 0
    done: int = 0

    @property
    def waiting(self) -> int:
        """Points that nobody has taken yet."""
        return self.points - self.done

    def tick_ms(self, offset: int) -> int | None:
        """The tick of the record at an offset; None where it cannot be read."""
        try:
            with self.path.open("rb") as file:
                header = header_at(file.fileno(), offset)
        except OSError:
            return None
        return header.tick_ms if header else None


def segment_path(folder: Path, number: int) -> Path:
    """Where a segment lies: numbers sort as names do."""
    return folder / f"{number:020d}{SUFFIX}"


def segment_numbers(folder: Path) -> list[int]:
    """Numbers of the segments in a folder, oldest first."""
    names = (path.stem for path in folder.glob(f"*{SUFFIX}"))
    return sorted(int(name) for name in names if _NUMBER.fullmatch(name))


class Damage(NamedTuple):
    """What was found broken: stretches passed over, and bytes cut off the end."""

    stretches: int
    torn_bytes: int


def open_segment(path: Path, done_before: int) -> tuple[Segment, Damage]:
    """Take up a segment that an earlier process wrote; raises OSError with its name.

    A last write that was cut short is removed from the file. Points of records
    before the offset ``done_before`` count as done.
    """
    segment = Segment(path, int(path.stem))
    content = _content(path)
    stretches = _walk(segment, content, done_before)
    torn = len(content) - segment.size
    if torn:
        os.truncate(path, segment.size)
    return segment, Damage(stretches - bool(torn), torn)


def _content(path: Path) -> bytes:
    """All of a file: were it mapped, a bad block of the disk would end the process."""
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
    """Bytes of an open file, fewer at its end alone; raises OSError.

    The system gives fewer before a block that it cannot read, too, and fails there.
    """
    found = os.pread(descriptor, length, offset)
    while len(found) < length:
        more = os.pread(descriptor, length - len(found), offset + len(found))
        if not more:
            break
        found += more
    return found


def header_at(descriptor: int, offset: int) -> Header | None:
    """The header of the record at an offset of an open file."""
    return read_header(read_at(descriptor, offset, HEADER_BYTES))


def sound_offset(descriptor: int, offset: int, size: int) -> int:
    """Where the next sound header after a damaged stretch lies, or ``size``.

    The file itself may have become shorter than that.
    """
    rest = read_at(descriptor, offset, size - offset)
    found = find_header(rest, 1)
    return offset + found if found < len(rest) else size
