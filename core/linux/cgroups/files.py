"""Read the files of a control group and parse their text."""

import os
from collections.abc import Callable, Mapping

_LARGEST = 1 << 20

Figures = Mapping[str, int]


def read_file(path: str) -> str:
    """Return the text of a group's file; raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _LARGEST).decode("ascii", "replace")
    finally:
        os.close(descriptor)


def parse_number(text: str) -> Figures:
    """Parse a single number, stored under the empty key; ``max`` gives no entry."""
    word = text.strip()
    return {"": int(word)} if word.isascii() and word.isdecimal() else {}


def parse_flat(text: str) -> Figures:
    """Parse lines of a name and a number, as in ``cpu.stat``."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if _is_pair(pair)}


def parse_nested(text: str) -> Figures:
    """Sum lines of devices such as ``8:0 rbytes=1 wios=2``, as in ``io.stat``."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        for word in line.split()[1:]:
            key, sign, number = word.partition("=")
            if sign and number.isdecimal():
                found[key] = found.get(key, 0) + int(number)
    return found


def parse_pressure(text: str) -> Figures:
    """Parse the totals (µs) under ``some`` and ``full``, as in ``cpu.pressure``."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        total = rest.rpartition("total=")[2]
        if total.isdecimal():
            found[kind] = int(total)
    return found


def parse_devices(text: str) -> Figures:
    """Sum lines such as ``8:0 Read 123`` (``blkio.*``) over all devices."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[2].isdecimal():
            found[words[1]] = found.get(words[1], 0) + int(words[2])
    return found


def parser_of(name: str) -> Callable[[str], Figures]:
    """Return the parser for a file by its name."""
    if name in ("io.stat", "rdma.current"):
        return parse_nested
    if name.endswith(".pressure"):
        return parse_pressure
    if name.startswith("blkio."):
        return parse_devices
    flat = name.endswith((".stat", ".stat.local", ".events"))
    flat = flat or name == "memory.oom_control"
    return parse_flat if flat else parse_number


def _is_pair(words: list[str]) -> bool:
    return len(words) == 2 and words[1].isdecimal()
