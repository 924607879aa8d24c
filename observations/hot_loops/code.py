"""Finds the hot functions and loops in the code of a file.

It is sent to the host of the command, so it imports only what is sent with it.
Addresses are those in the file, not in memory.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from bisect import bisect_left
from collections import Counter
from contextlib import suppress
from typing import Any, Dict, Iterable, Iterator

from observations.hot_loops.llvm import MissingError, Tools, printable, summary

_MOST_INSTRUCTIONS = 200
_MOST_FUNCTION_BYTES, _MOST_TEXT = 1 << 20, 200
_SYMBOL = re.compile(
    rb"\s*\d+: ([0-9a-f]{16})\s+(\d+|0x[0-9a-f]+) I?FUNC\s+\w+\s+\w+\s+\d+ (\S+)"
)
_FRAME = re.compile(rb"\bpc=([0-9a-f]+)\.\.\.([0-9a-f]+)")
_INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\s+([ -~\t]+)")
_BRANCH = {
    "x86_64": re.compile(r"(?:j[a-z]+|loop\w*)\s+(0x[0-9a-f]+)"),
    "aarch64": re.compile(r"(?:b|b\.\w+|cbn?z|tbn?z)\s+(?:.*, )?(0x[0-9a-f]+)"),
}
# Comments that name addresses: the names may contain anything.
_COMMENT = re.compile(r"\s+(?:<.*|# .*|// .*)$")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_LOAD, _NOTE, _BUILD_ID = 1, 4, 3
Counts = Dict[int, int]


class Binary:
    """A file with code, and its samples by offset in the file."""

    def __init__(self, path: str, offsets: Counts, tools: Tools, began: float) -> None:
        self._path, self._tools = path, tools
        self._total = sum(offsets.values())
        self._reason = self._build_id = ""
        self._counts: Counts = {}
        try:
            self._read(path, offsets, began)
        except (OSError, struct.error, MissingError) as error:
            self._reason = str(error)[:300]

    @property
    def build_id(self) -> str:
        """The build id of the file; empty if it has none or cannot be read."""
        return self._build_id

    def functions(
        self, least: float
    ) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Yield each function with at least this many samples, and its loops."""
        spans: list[tuple[int, int, str]] = []
        if not self._reason:
            try:
                spans = self._spans()
            except (OSError, MissingError) as error:
                self._reason = str(error)[:300]
        rest = self._total
        for start, end, name in sorted(spans):
            samples = self._within(start, end)
            if samples >= least:
                rest -= samples
                yield self._function(name, start, end, samples, least)
        if rest >= least:
            reason = self._reason or "each of its functions has few samples"
            yield self._about("", 0, 0, rest, reason), []

    def _function(
        self, name: str, start: int, end: int, samples: int, least: float
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        loops: list[dict[str, Any]] = []
        reason = ""
        try:
            instructions = self._instructions(start, end)
            for first, last in innermost_loops(instructions):
                if self._within(first, last + 1) >= least:
                    loops.append(self._loop(first, last, instructions))
        except (OSError, MissingError) as error:
            reason = str(error)[:300]
        return self._about(name, start, end, samples, reason), loops

    def _about(
        self, name: str, start: int, end: int, samples: int, reason: str
    ) -> dict[str, Any]:
        return {
            "name": printable(name),
            "binary": printable(self._path),
            "build_id": self._build_id,
            "start": start,
            "end": end,
            "samples": samples,
            "reason": reason,
        }

    def _loop(
        self, first: int, last: int, instructions: dict[int, str]
    ) -> dict[str, Any]:
        body = {at: t for at, t in instructions.items() if first <= at <= last}
        found: dict[str, Any] = {
            "start": first,
            "end": last,
            "samples": self._within(first, last + 1),
            "instructions": [
                [at, text, self._counts.get(at, 0)] for at, text in body.items()
            ][:_MOST_INSTRUCTIONS],
            "source": None,
            "prediction": None,
            "reason": "",
        }
        with suppress(OSError, MissingError):
            found["source"] = self._source(body)
        try:
            found["prediction"] = self._prediction(body)
        except (OSError, ValueError, MissingError) as error:
            found["reason"] = str(error)[:300]
        return found

    def _prediction(self, body: dict[int, str]) -> dict[str, Any]:
        if len(body) > _MOST_INSTRUCTIONS:
            raise MissingError(f"it has more than {_MOST_INSTRUCTIONS} instructions")
        return summary(self._tools.predict("\n".join(body.values()) + "\n"))

    def _source(self, body: dict[int, str]) -> list[Any] | None:
        """Return the file of most samples, and its first and last line in the loop."""
        words = [f"--obj={self._path}", "--functions=none", "--no-inlines"]
        text = "".join(f"{at:#x}\n" for at in body)
        places = self._tools.output("llvm-symbolizer", words, text).split()
        lines: dict[str, list[int]] = {}
        weights: Counter[str] = Counter()
        for at, place in zip(body, places):  # noqa: B905
            file, line, _ = place.rsplit(":", 2)
            if line.isdigit() and int(line):
                lines.setdefault(file, []).append(int(line))
                weights[file] += 1 + self._counts.get(at, 0) * _MOST_INSTRUCTIONS
        if not weights:
            return None
        file = weights.most_common(1)[0][0]
        return [printable(file), min(lines[file]), max(lines[file])]

    def _read(self, path: str, offsets: Counts, began: float) -> None:
        """Read the segments and the build id of the file."""
        if not path.startswith("/") or path.startswith(("//", "/memfd:")):
            raise MissingError("the code has no file")
        if re.fullmatch(r"/tmp/perf-\d+\.map", path):  # noqa: S108
            raise MissingError("the code was generated while it ran")
        state = os.stat(path)  # noqa: PTH116
        if not stat.S_ISREG(state.st_mode):
            raise MissingError("the code has no regular file")
        if max(state.st_mtime, state.st_ctime) > began:
            raise MissingError("the file was changed during the run")
        segments = list(_segments_of(path))
        self._build_id = _build_id_of(path, segments)
        for offset, samples in offsets.items():
            for kind, _, at, address, _, size, _, _ in segments:
                if kind == _LOAD and at <= offset < at + size:
                    self._counts[offset - at + address] = samples
        self._hot = sorted(self._counts)

    def _within(self, start: int, end: int) -> int:
        first, last = bisect_left(self._hot, start), bisect_left(self._hot, end)
        return sum(self._counts[at] for at in self._hot[first:last])

    def _spans(self) -> list[tuple[int, int, str]]:
        """Return the functions with samples; those without a symbol have no name."""
        spans: dict[int, tuple[int, int, str]] = {}
        for start, end, name in self._symbols():
            if self._is_hot(start, end) and name < spans.get(start, (0, 0, "~"))[2]:
                spans[start] = (start, end, name)
        covered = sum(self._within(start, end) for start, end, _ in spans.values())
        if covered < sum(self._counts.values()):
            for start, end in self._frames():
                known = any(s <= start < e for s, e, _ in spans.values())
                if not known and self._is_hot(start, end):
                    spans[start] = (start, end, "")
        return list(spans.values())

    def _is_hot(self, start: int, end: int) -> bool:
        at = bisect_left(self._hot, start)
        return at < len(self._hot) and self._hot[at] < end

    def _symbols(self) -> Iterator[tuple[int, int, str]]:
        words = ("-sW", "--dyn-syms", self._path)
        for line in self._tools.lines("llvm-readelf", *words):
            if found := _SYMBOL.match(line):
                start, size, name = found.groups()
                text = name.decode(errors="replace").partition("@")[0]
                yield int(start, 16), int(start, 16) + int(size, 0), text

    def _frames(self) -> Iterator[tuple[int, int]]:
        """Yield the functions in the tables for exceptions, which stripping leaves."""
        for line in self._tools.lines("llvm-dwarfdump", "--eh-frame", self._path):
            if found := _FRAME.search(line):
                yield int(found[1], 16), int(found[2], 16)

    def _instructions(self, start: int, end: int) -> dict[int, str]:
        if end - start > _MOST_FUNCTION_BYTES:
            raise MissingError(f"it has more than {_MOST_FUNCTION_BYTES} bytes")
        words = ("-d", "--no-show-raw-insn", f"--start-address={start:#x}")
        found = {}
        for line in self._tools.lines(
            "llvm-objdump", *words, f"--stop-address={end:#x}", self._path
        ):
            text = line.decode(errors="replace").rstrip("\n")
            if match := _INSTRUCTION.fullmatch(text):
                word = _COMMENT.sub("", match[2]).replace("\t", " ")
                found[int(match[1], 16)] = word[:_MOST_TEXT].strip()
        return found


def innermost_loops(
    instructions: dict[int, str], machine: str = ""
) -> list[tuple[int, int]]:
    """Return the first and last address of each loop that contains no other.

    A loop is what a backward branch closes. Branches to the same address close one.
    """
    branch = _BRANCH.get(machine or os.uname().machine)
    ends: dict[int, int] = {}
    for at, text in instructions.items() if branch else ():
        found = branch and branch.match(text)
        target = int(found[1], 16) if found else -1
        if target in instructions and target <= at:
            ends[target] = max(at, ends.get(target, 0))
    spans = sorted(ends.items())
    return [
        (start, end)
        for start, end in spans
        if not any(start <= s and e <= end and (s, e) != (start, end) for s, e in spans)
    ]


def _segments_of(path: str) -> Iterator[Any]:
    with open(path, "rb") as file:  # noqa: PTH123
        head = file.read(64)
        if not head.startswith(b"\x7fELF\x02\x01"):
            raise MissingError("it is not a 64-bit ELF file")
        (start,) = struct.unpack_from("<Q", head, 32)
        _, number = struct.unpack_from("<HH", head, 54)
        file.seek(start)
        yield from _SEGMENT.iter_unpack(file.read(_SEGMENT.size * number))


def _build_id_of(path: str, segments: Iterable[Any]) -> str:
    with open(path, "rb") as file:  # noqa: PTH123
        for kind, _, at, _, _, size, _, _ in segments:
            if kind == _NOTE:
                file.seek(at)
                notes = file.read(min(size, 1 << 16))
                while len(notes) >= 12:  # noqa: PLR2004
                    name, length, what = struct.unpack_from("<III", notes)
                    start = 12 + (name + 3 & ~3)
                    if what == _BUILD_ID and notes[12:15] == b"GNU":
                        return notes[start : start + length].hex()
                    notes = notes[start + (length + 3 & ~3) :]
    return ""
