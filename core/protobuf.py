"""Fields of messages in the encoding of Protocol Buffers.

Specification: https://protobuf.dev/programming-guides/encoding
"""

from collections.abc import Iterable

VARINT, DOUBLE, BYTES = 0, 1, 2


def integer(number: int, value: int) -> bytes:
    """A field with an unsigned integer."""
    return tag(number, VARINT) + varint(value)


def field(number: int, value: str | bytes) -> bytes:
    """A field with a string, bytes or an encoded message."""
    content = value.encode(errors="replace") if isinstance(value, str) else value
    return tag(number, BYTES) + sized(content)


def packed(number: int, values: Iterable[int]) -> bytes:
    """A field with a list of unsigned integers."""
    return field(number, b"".join(map(varint, values)))


def tag(number: int, kind: int) -> bytes:
    """What precedes a field: its number and the kind of its value."""
    return varint(number << 3 | kind)


def sized(message: bytes) -> bytes:
    """A message after its length."""
    return varint(len(message)) + message


def varint(value: int) -> bytes:
    """An unsigned integer in groups of seven bits, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
