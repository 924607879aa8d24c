"""A profile as pprof: its protocol buffer, compressed by gzip.

The fields are those of `profile.proto` in github.com/google/pprof.
"""

import gzip

from core.protobuf import field, integer, packed
from observations.profiles.profile import Profile, ProfiledFunction, ProfileKind

_NS = 1_000_000_000


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
    times = ("cpu", "nanoseconds")
    if is_off := profile.kind is ProfileKind.OFF_CPU:
        period, times = 1, ("waiting", "nanoseconds")
    kinds = [times] if is_off else [("samples", "count"), times]
    parts = [field(1, _kind(strings, *kind)) for kind in kinds]
    for count, stack in profile.stacks:
        # The innermost call comes first.
        locations = packed(1, [functions[one] for one in reversed(stack)])
        values = packed(2, [count] if is_off else [count, count * period])
        parts.append(field(2, locations + values))
    for (path, build_id), number in binaries.items():
        names = integer(5, strings.number(path)) + integer(6, strings.number(build_id))
        parts.append(field(3, integer(1, number) + names + integer(7, 1)))
    for one, number in functions.items():
        mapping = binaries[one.binary, one.build_id]
        parts.append(field(4, _location(number, mapping, one.line)))
        parts.append(field(5, _function(strings, number, one)))
    parts += [integer(9, start_ns), integer(10, duration_ns)]
    parts += [
        field(11, _kind(strings, *times)),
        integer(12, period),
    ]
    parts.append(integer(13, strings.number(profile.note)))
    texts = [field(6, text.encode()) for text in strings.numbers]
    return gzip.compress(b"".join([*parts, *texts]), mtime=0)


def _kind(strings: _Strings, name: str, unit: str) -> bytes:
    return integer(1, strings.number(name)) + integer(2, strings.number(unit))


def _location(number: int, mapping: int, line: int) -> bytes:
    lines = field(4, integer(1, number) + integer(2, line))
    return integer(1, number) + integer(2, mapping) + lines


def _function(strings: _Strings, number: int, one: ProfiledFunction) -> bytes:
    name = strings.number(one.name)
    texts = integer(2, name) + integer(3, name) + integer(4, strings.number(one.source))
    return integer(1, number) + texts
