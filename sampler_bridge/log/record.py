"""One record of the log: the rows of a tick, after a header with two checksums.

The header has its own checksum, which shows whether its length can be trusted. A
damaged payload costs one record. After a damaged header, the reader searches for the
next sound one.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

MAGIC = b"STR2"
_FIELDS = struct.Struct("<4s??2xqIII")  # magic, then the fields of Header in order
_SUM = struct.Struct("<I")
HEADER_BYTES = _FIELDS.size + _SUM.size


class RecordHeader(NamedTuple):
    """The header of a record; ``length`` is the length of the payload as stored.

    ``tells``: the record declares series.
    """

    packed: bool
    tells: bool
    tick_ms: int
    points: int
    length: int
    payload_sum: int

    @property
    def record_bytes(self) -> int:
        """Length of the whole record."""
        return HEADER_BYTES + self.length


def write_record(
    tick_ms: int, points: int, payload: bytes, tells: bool, packed: bool
) -> bytes:
    """Encode a record; ``packed`` compresses the payload (fast, about threefold)."""
    body = zlib.compress(payload, 1) if packed else payload
    header = RecordHeader(packed, tells, tick_ms, points, len(body), zlib.crc32(body))
    fields = _FIELDS.pack(MAGIC, *header)
    return fields + _SUM.pack(zlib.crc32(fields)) + body


def read_header(buffer: bytes, at: int = 0) -> RecordHeader | None:
    """The header at an offset; None if it is truncated or damaged."""
    end = at + _FIELDS.size
    if len(buffer) < end + _SUM.size:
        return None
    (header_sum,) = _SUM.unpack_from(buffer, end)
    if zlib.crc32(buffer[at:end]) != header_sum:
        return None
    magic, *fields = _FIELDS.unpack_from(buffer, at)
    return RecordHeader(*fields) if magic == MAGIC else None


def read_payload(header: RecordHeader, body: bytes) -> bytes | None:
    """The payload of a record; None if it is damaged or truncated."""
    if len(body) != header.length or zlib.crc32(body) != header.payload_sum:
        return None
    return zlib.decompress(body) if header.packed else body


def find_header(buffer: bytes, at: int) -> int:
    """The next offset from ``at`` on with a sound header, or the buffer's end."""
    while (at := buffer.find(MAGIC, at)) >= 0:
        if read_header(buffer, at):
            return at
        at += 1
    return len(buffer)


class Scan(NamedTuple):
    """One step through a segment: a record, or a damaged stretch (header is None)."""

    start: int
    end: int
    header: RecordHeader | None


def scan(buffer: bytes) -> Iterator[Scan]:
    """Walk through a segment by its headers alone.

    A truncated last record is yielded as a stretch without a header.
    """
    at = 0
    while at < len(buffer):
        header = read_header(buffer, at)
        if header is None or at + header.record_bytes > len(buffer):
            end = find_header(buffer, at + 1)
            yield Scan(at, end, None)
        else:
            end = at + header.record_bytes
            yield Scan(at, end, header)
        at = end
