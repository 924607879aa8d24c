"""The regions that a command writes into a pipe: lines `begin NAME` and `end NAME`.

This is a part of the runner's program, as `observations.recorder` is.
"""

from __future__ import annotations

from typing import Any

from observations.slice_times import MOST_SLICES, longest_slices

# As in regions.c; a test compares them.
MOST_REGIONS, MOST_DEPTH, MOST_NAME = 256, 64, 127
_LONGEST_LINE = 1 << 16


class RegionTable:
    """The regions of all threads, each with the position of the one around it."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, str]] = []
        self._numbers: dict[tuple[int, str], int] = {}

    def number(self, parent: int, name: str) -> int:
        """Return the position of a region; ``parent`` is -1 outside all others."""
        found = self._numbers.setdefault((parent, name), len(self.rows))
        if found == len(self.rows):
            self.rows.append((parent, name))
        return found


class PipedRegions:
    """The regions in lines that the command writes: `begin NAME` and `end NAME`."""

    def __init__(self) -> None:
        self.counts = {"omitted": 0, "unbalanced": 0, "unreadable": 0}
        self._table = RegionTable()
        self._times: dict[int, list[Any]] = {}
        self._open: list[tuple[int, int]] = []
        self._slices: list[list[int]] = []
        self.left_out_slices = 0
        self._rest = b""

    def add(self, text: bytes, ns: int) -> None:
        """Add text that was written at a time."""
        *lines, self._rest = (self._rest + text).split(b"\n")
        self._rest = self._rest[-_LONGEST_LINE:]
        for line in lines:
            word, _, name = line.strip().partition(b" ")
            shown = region_name(name.strip())
            if word == b"begin" and shown:
                self._begin(shown, ns)
            elif word == b"end" and shown:
                self._end(shown, ns)
            elif line.strip():
                self.counts["unreadable"] += 1

    @property
    def unfinished(self) -> int:
        """The number of regions that did not end."""
        return len(self._open)

    def thread(self, table: RegionTable) -> dict[str, Any] | None:
        """Return its regions as those of a thread; None if there are none."""
        numbers: list[int] = []
        for parent, name in self._table.rows:
            numbers.append(table.number(numbers[parent] if parent >= 0 else -1, name))
        times = [[numbers[at], *one] for at, one in self._times.items()]
        slices = [[numbers[at], *times_] for at, *times_ in self._slices]
        about = {"rank": -1, "process": 0, "thread": 0, "piped": True}
        return {**about, "times": times, "slices": slices} if times else None

    def _begin(self, name: str, ns: int) -> None:
        parent = self._open[-1][0] if self._open else -1
        if len(self._open) >= MOST_DEPTH or len(self._table.rows) >= MOST_REGIONS:
            self.counts["omitted"] += 1
        else:
            self._open.append((self._table.number(parent, name), ns))

    def _end(self, name: str, ns: int) -> None:
        for at in range(len(self._open) - 1, -1, -1):
            number, since = self._open[at]
            if self._table.rows[number][1] == name:
                found = self._times.setdefault(number, [0, 0, None, []])
                found[0] += 1
                found[1] += ns - since
                self._keep(number, since, ns)
                del self._open[at]
                return
        self.counts["unbalanced"] += 1

    def _keep(self, number: int, begin: int, end: int) -> None:
        self._slices.append([number, begin, end])
        if len(self._slices) > 2 * MOST_SLICES:
            self._slices, left_out = longest_slices(self._slices, MOST_SLICES)
            self.left_out_slices += left_out


def region_name(name: bytes) -> str:
    """Return a name as text in one line; unusual bytes are escaped."""
    text = name[:MOST_NAME].decode(errors="backslashreplace")
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
