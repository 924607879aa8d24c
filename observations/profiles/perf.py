"""Samples the stacks of a command on the CPU, with perf.

It is sent to the host of the command, so it imports only what is sent with it. Nothing
here fails a run: what goes wrong is the reason why something is missing. Stacks are
unwound by the tables for exceptions (.eh_frame), so that frame pointers are not needed.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from contextlib import suppress
from typing import Any, Iterable, Iterator, Tuple

from observations.hot_loops.code import Binary
from observations.hot_loops.llvm import MissingError, Tools, printable
from observations.hot_loops.perf import LoopRecording
from observations.profiles.programs import separate_programs

# perf copies this many bytes of each stack: the frames that they hold are unwound.
_STACK_BYTES = 4096
_MOST_BYTES, MOST_STACKS, MOST_FRAMES = 256 << 20, 5_000, 127
_ALONE_SHARE = 0.1
_HOT_SHARE, _MOST_SOURCES = 0.005, 500
_CUT = "perf stopped at 256 MiB of stacks: the shares are of the time until then"
_OMITTED = "of {} different stacks, the {} most frequent are kept: {} samples are not"
_ALONE = "{} samples have no caller: perf cannot unwind, for example, static programs"
_FEWER = "{} stacks a second were requested; this host allows {}"
# Paths may have line breaks, and `` (``, as in ``/lib/libm.so (deleted)``.
FRAME = re.compile(rb"\s+([0-9a-f]+) (.*?) \(([/\[].*|[^()]*)\)\s*$", re.DOTALL)
_BEGUN = re.compile(rb"\s+[0-9a-f]+ .* \(/.*[^)\s]\s*$", re.DOTALL)
_LONGEST_FRAME = 1 << 16
# Some stacks end at these, and all processes of a run are to have one root.
_BEFORE_MAIN = {"_start", "__libc_start_main", "__libc_start_call_main"}
_PID = re.compile(rb"\s*(\d+)\s*$")
LOST = re.compile(rb".*PERF_RECORD_LOST\w*\s*:?\s*lost (\d+)")
_IN_FILE = re.compile(rb"(.*)\+0x([0-9a-f]+)", re.DOTALL)
_MAP = re.compile(r"(.*/)?perf-\d+\.map")
# Of a symbol of a library.
_VERSION = re.compile(r"@@?[A-Za-z]\w*_[\d.]+$")
# CPython names its trampolines so: the function, and its file.
_PYTHON = re.compile(r"py::(.+?):(.+)")
# Unwinding ended outside of all code.
_NOWHERE = 0xFFFF_FFFF_FFFF_FFFF
# The name of a function, else its address, and the path of its file.
Frame = Tuple[str, str]
Stack = Tuple[Frame, ...]


class Stacks:
    """How often each stack was sampled, outermost call first."""

    def __init__(self, lines: Iterable[bytes], own: int) -> None:
        self.lost = 0
        self.counts: Counter[Stack] = Counter()
        self.addresses: dict[Frame, Counter[int]] = {}
        for pid, frames in self._samples(lines):
            if pid != own and frames:
                self._add(frames)

    def _samples(
        self, lines: Iterable[bytes]
    ) -> Iterator[tuple[int, list[tuple[Frame, int]]]]:
        pid = 0
        frames: list[tuple[Frame, int]] = []
        for line in whole_frames(lines):
            if found := FRAME.match(line):
                frames.append(frame_of(found))
            elif lost := LOST.match(line):
                self.lost += int(lost[1])
            elif started := _PID.match(line):
                yield pid, frames
                pid, frames = int(started[1]), []
        yield pid, frames

    def _add(self, frames: list[tuple[Frame, int]]) -> None:
        self.counts[stack_of(frames)] += 1
        frame, at = frames[0]
        self.addresses.setdefault(frame, Counter())[at] += 1


class ProfileRecording(LoopRecording):
    """Samples the stacks of all processes that this process starts."""

    member = "profile"
    most_bytes = _MOST_BYTES

    def __init__(self, env: dict[str, str], rate: int) -> None:
        super().__init__(env)
        self._wanted = rate
        self._rate = min(rate, self.most_rate())
        self.options: tuple[str, ...] = ("--call-graph", f"dwarf,{_STACK_BYTES}")

    def _nothing(self) -> dict[str, Any]:
        return {"samples": 0, "lost": 0, "note": "", "binaries": [], "functions": []}

    def report(self, tools: Tools) -> dict[str, Any]:
        """Return what was recorded; without samples, the reason."""
        found = {**self._nothing(), "stacks": []}
        try:
            if not self._reason:
                found = self._read(tools)
        except (OSError, MissingError) as error:
            self._reason = str(error)[:300]
        finally:
            self.discard()
        about = {"sampler": self._event, "rate": self._rate}
        return {"reason": self._reason, **about, **found}

    def _read(self, tools: Tools) -> dict[str, Any]:
        self._event = tools.event(self._data)
        separate_programs(self._data, os.getpid())
        stacks = Stacks(tools.stack_lines(self._data, MOST_FRAMES), os.getpid())
        total = sum(stacks.counts.values())
        if not total:
            raise MissingError("perf took no sample: each process used too little time")
        kept = dict(stacks.counts.most_common(MOST_STACKS))
        sources = sources_of(stacks.addresses, tools)
        document = document_of(kept, sources, self._began, tools)
        notes = self._notes(stacks, total - sum(kept.values()))
        about = {"samples": total, "lost": stacks.lost, "note": "; ".join(notes)}
        return {**about, **document}

    def _notes(self, stacks: Stacks, omitted: int) -> Iterator[str]:
        if self._rate < self._wanted:
            yield _FEWER.format(self._wanted, self._rate)
        alone = sum(n for stack, n in stacks.counts.items() if _is_alone(stack))
        if alone > _ALONE_SHARE * sum(stacks.counts.values()):
            yield _ALONE.format(alone)
        if omitted:
            yield _OMITTED.format(len(stacks.counts), MOST_STACKS, omitted)
        if os.stat(self._data).st_size >= _MOST_BYTES:  # noqa: PTH116
            yield _CUT


def whole_frames(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines; those of a frame whose path has line breaks are one."""
    part = b""
    for line in lines:
        part += line
        if not _BEGUN.match(part) or len(part) > _LONGEST_FRAME:
            yield part
            part = b""
    yield part


def stack_of(frames: list[tuple[Frame, int]]) -> Stack:
    """Return the frames of a sample, outermost first, from the start of its program."""
    starts = False
    while len(frames) > 1 and _is_before_main(frames[-1], starts):
        starts = True
        frames.pop()
    return tuple(frame for frame, _ in reversed(frames))


def frame_of(found: re.Match[bytes]) -> tuple[Frame, int]:
    """Return a frame of perf's text, and its address in the file."""
    at, file = int(found[1], 16), found[3]
    if in_file := _IN_FILE.fullmatch(file):  # the address before is that in memory
        file, at = in_file[1], int(in_file[2], 16)
    name = printable(_VERSION.sub("", found[2].decode(errors="replace")))
    path = printable(os.fsdecode(file))
    if _MAP.fullmatch(path):  # the name holds the process: ranks would not merge
        path = "[generated code]"
        if python := _PYTHON.fullmatch(name):
            return (python[1], python[2]), at
    return (f"{at:#x}" if name == "[unknown]" else name, path), at


def _is_alone(stack: Stack) -> bool:
    return len(stack) == 1 and stack[0][0] != "main"


def _is_before_main(frame: tuple[Frame, int], starts: bool) -> bool:
    """Whether a frame starts a program; ``starts`` says that its caller does.

    A stripped C library has no name for its last function before ``main``.
    """
    (name, path), at = frame
    is_unnamed = starts and name == f"{at:#x}" and "/libc.so" in path
    return is_unnamed or name.partition("_impl")[0] in _BEFORE_MAIN or at == _NOWHERE


def sources_of(
    found_at: dict[Frame, Counter[int]], tools: Tools
) -> dict[Frame, tuple[str, int]]:
    """Return the file and line with most samples of each function that has many.

    ``found_at`` has how often each address of a function was sampled.
    """
    total = sum(sum(addresses.values()) for addresses in found_at.values())
    hot = {
        frame: addresses.most_common(1)[0][0]
        for frame, addresses in found_at.items()
        if sum(addresses.values()) >= _HOT_SHARE * total
    }
    found: dict[Frame, tuple[str, int]] = {}
    for path in {path for _, path in hot if path.startswith("/")}:
        frames = [frame for frame in hot if frame[1] == path][:_MOST_SOURCES]
        with suppress(OSError, MissingError):
            places = _places(path, [hot[frame] for frame in frames], tools)
            found.update(zip(frames, places))  # noqa: B905
    return found


def _places(path: str, addresses: list[int], tools: Tools) -> list[tuple[str, int]]:
    words = [f"--obj={path}", "--functions=none", "--no-inlines"]
    text = "".join(f"{at:#x}\n" for at in addresses)
    lines = tools.output("llvm-symbolizer", words, text).split("\n")
    places = [line.rsplit(":", 2) for line in lines if line.count(":") > 1]
    return [
        (printable(file), int(line)) if line.isdigit() and int(line) else ("", 0)
        for file, line, _ in places
    ]


def document_of(
    kept: dict[Stack, int],
    sources: dict[Frame, tuple[str, int]],
    began: float,
    tools: Tools,
) -> dict[str, Any]:
    """Return stacks as numbers of functions, which have numbers of files."""
    frames = list(dict.fromkeys(frame for stack in kept for frame in stack))
    paths = list(dict.fromkeys(path for _, path in frames))
    number = {frame: at for at, frame in enumerate(frames)}
    position = {path: at for at, path in enumerate(paths)}
    return {
        "binaries": [[path, Binary(path, {}, tools, began).build_id] for path in paths],
        "functions": [
            [name, position[path], *sources.get((name, path), ("", 0))]
            for name, path in frames
        ],
        "stacks": [
            [count, [number[frame] for frame in stack]] for stack, count in kept.items()
        ],
    }
