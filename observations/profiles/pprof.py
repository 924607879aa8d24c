"""A profile as pprof: gzip of the protobuf message `perftools.profiles.Profile`.

The fields are those of github.com/google/pprof/proto/profile.proto.
"""

import gzip
from collections.abc import Iterable

from observations.profiles.profile import Profile

_NS = 1_000_000_000
_VARINT, _BYTES = 0, 2


def pprof(profile: Profile, start_ns: int = 0, duration_ns: int = 0) -> bytes:
    """Return the compressed message; sample values are a count and nanoseconds."""
    strings = _Strings()
    period = _NS // max(profile.rate, 1)
    count = _value_type(strings, "samples", "count")
    cpu = _value_type(strings, "cpu", "nanoseconds")
    parts = [_message(1, count), _message(1, cpu), *_samples(profile, period)]
    parts += [*_mappings(profile, strings), *_locations(profile)]
    parts += _functions(profile, strings)
    parts += [_number(9, start_ns), _number(10, duration_ns)]
    parts += [_message(11, cpu), _number(12, period)]
    notes = [*profile.notes, f"{profile.lost} samples were lost", profile.sampler]
    parts += [_message(13, _varint(strings[note])) for note in notes]
    return gzip.compress(b"".join((*parts, *strings.messages())), mtime=0)


class _Strings:
    """The table of strings; the first is empty."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def __getitem__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def messages(self) -> Iterable[bytes]:
        return (_message(6, text.encode()) for text in self._numbers)


def _value_type(strings: _Strings, kind: str, unit: str) -> bytes:
    return _number(1, strings[kind]) + _number(2, strings[unit])


def _samples(profile: Profile, period: int) -> Iterable[bytes]:
    """Yield a sample for each node in which stacks ended; the innermost comes first."""
    for at, node in enumerate(profile.nodes):
        if node.samples:
            stack = b"".join(_varint(one + 1) for one in profile.path(at)[::-1])
            values = _varint(node.samples) + _varint(node.samples * period)
            yield _message(2, _message(1, stack) + _message(2, values))


def _mappings(profile: Profile, strings: _Strings) -> Iterable[bytes]:
    for at, binary in enumerate(profile.binaries):
        names = _number(5, strings[binary.path]) + _number(6, strings[binary.build_id])
        yield _message(3, _number(1, at + 1) + names + _number(7, 1))


def _locations(profile: Profile) -> Iterable[bytes]:
    """Yield a location for each node of the call tree: it has a function and a line."""
    for at, node in enumerate(profile.nodes):
        function = profile.functions[node.function]
        line = _number(1, node.function + 1) + _number(2, node.line)
        place = _number(1, at + 1) + _number(2, function.binary + 1)
        yield _message(4, place + _number(3, function.address) + _message(4, line))


def _functions(profile: Profile, strings: _Strings) -> Iterable[bytes]:
    for at, function in enumerate(profile.functions):
        name, file = strings[profile.title(at)], strings[function.file]
        names = _number(2, name) + _number(3, name) + _number(4, file)
        yield _message(5, _number(1, at + 1) + names)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:  # noqa: PLR2004
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(content)) + content
