"""A profile as pprof: its protocol buffer, compressed by gzip.

The fields are those of `profile.proto` in github.com/google/pprof.
"""

import gzip
from collections.abc import Iterable

from observations.profiles.profile import Profile, ProfiledFunction

_NS = 1_000_000_000
_VARINT, _BYTES = 0, 2


class _Strings:
    """The table of strings, whose first is empty."""

    def __init__(self) -> None:
        self.numbers = {"": 0}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def pprof(profile: Profile, start_ns: int = 0, duration_ns: int = 0) -> bytes:
    """Return the profile as a gzip file; times are of the run, in ns."""
    strings = _Strings()
    functions = {f: n for n, f in enumerate(profile.functions(), 1)}
    binaries = {b: n for n, b in enumerate(profile.binaries(), 1)}
    period = _NS // max(profile.rate, 1)
    kinds = [("samples", "count"), ("cpu", "nanoseconds")]
    parts = [_field(1, _kind(strings, *kind)) for kind in kinds]
    for count, stack in profile.stacks:
        # The innermost call comes first.
        locations = _packed(1, [functions[one] for one in reversed(stack)])
        values = _packed(2, [count, count * period])
        parts.append(_field(2, locations + values))
    for (path, build_id), number in binaries.items():
        names = _number(5, strings.number(path)) + _number(6, strings.number(build_id))
        parts.append(_field(3, _number(1, number) + names + _number(7, 1)))
    for one, number in functions.items():
        mapping = binaries[one.binary, one.build_id]
        parts.append(_field(4, _location(number, mapping, one.line)))
        parts.append(_field(5, _function(strings, number, one)))
    parts += [_number(9, start_ns), _number(10, duration_ns)]
    parts += [_field(11, _kind(strings, "cpu", "nanoseconds")), _number(12, period)]
    parts.append(_number(13, strings.number(profile.note)))
    texts = [_field(6, text.encode()) for text in strings.numbers]
    return gzip.compress(b"".join([*parts, *texts]), mtime=0)


def _kind(strings: _Strings, name: str, unit: str) -> bytes:
    return _number(1, strings.number(name)) + _number(2, strings.number(unit))


def _location(number: int, mapping: int, line: int) -> bytes:
    lines = _field(4, _number(1, number) + _number(2, line))
    return _number(1, number) + _number(2, mapping) + lines


def _function(strings: _Strings, number: int, one: ProfiledFunction) -> bytes:
    name = strings.number(one.name)
    texts = _number(2, name) + _number(3, name) + _number(4, strings.number(one.source))
    return _number(1, number) + texts


def _number(tag: int, value: int) -> bytes:
    return _varint(tag << 3 | _VARINT) + _varint(value) if value else b""


def _packed(tag: int, values: Iterable[int]) -> bytes:
    return _field(tag, b"".join(map(_varint, values)))


def _field(tag: int, content: bytes) -> bytes:
    return _varint(tag << 3 | _BYTES) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
