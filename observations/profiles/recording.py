"""Samples the stacks of a command, with perf.

It is sent to the host of the command, so it imports only what is sent with it.
Addresses are those in the file, not in memory.
"""

from __future__ import annotations

import itertools
import os
import re
import struct
from bisect import bisect_right
from collections import Counter
from contextlib import suppress
from typing import Any, Callable, Dict, Iterable, Tuple

from observations.hot_loops.code import build_id_of, function_spans, segments_of
from observations.hot_loops.llvm import MissingError, Tools, printable
from observations.perf_sampling import PerfSampling, possible_rate

# perf unwinds by the tables in .eh_frame, from this many bytes of each stack.
_STACK_BYTES = 4096
_MOST_BYTES, _MOST_RATE = 512 << 20, 1000
# So that the event of a profile is a few MiB at most.
MOST_NODES, MOST_PLACES, _LINES_PER_BEAT, _MOST_NAME = 20_000, 20_000, 1000, 300
_CUT = "perf stopped at 512 MiB of stacks: the shares are of the time until then"
_HEADER = re.compile(rb"\s*(\d+)\s*$")
_FRAME_LINE = re.compile(rb"\s+([0-9a-f]+) (.*?) \(([^()]*(?: \(deleted\))?)\)$")
_LOST = re.compile(rb".*PERF_RECORD_LOST(?:_SAMPLES)? lost (\d+)")
_FORKED = re.compile(rb".*PERF_RECORD_FORK\((\d+):\d+\):\((\d+):")
_EXECUTED = re.compile(rb".*PERF_RECORD_COMM exec: .*:(\d+)/\d+\s*$")
_LOAD, _UNWIND_TABLE = 1, 0x6474E550
_NO_SYMBOLS = "it lacks symbols: addresses instead of names"
_NO_TABLE = "it lacks .eh_frame_hdr: the callers of its functions are unknown"

# Offset in a file, name of the function and path of the file.
Frame = Tuple[int, str, str]
# Positions of functions with lines, the outermost first.
Stack = Tuple[Tuple[int, int], ...]
Stacks = Dict[Tuple[Frame, ...], int]


class ProfileRecording(PerfSampling):
    """Samples the stacks of all processes that this process starts."""

    def __init__(self, env: dict[str, str], wanted: int) -> None:
        rate = possible_rate(min(wanted, _MOST_RATE))
        words = ["--call-graph", f"dwarf,{_STACK_BYTES}"]
        super().__init__(env, rate, _MOST_BYTES, words)
        self._wanted = wanted

    def result(self, beat: Callable[[], None]) -> dict[str, Any]:
        """Return the call tree; calls ``beat`` at least every 10 s."""
        found: dict[str, Any] = {"samples": 0, "lost": 0, "notes": []}
        found.update(binaries=[], functions=[], nodes=[])
        try:
            if not self.reason:
                found = self._profile(Tools(self.env, self.found, beat), beat)
        except (OSError, MissingError) as error:
            self.reason = str(error)[:300]
        finally:
            self.discard()
        about = {"reason": self.reason, "sampler": self.event, "rate": self.rate}
        return {**about, **found}

    def _profile(self, tools: Tools, beat: Callable[[], None]) -> dict[str, Any]:
        # Where there is no PMU, perf may count cycles by a timer of the kernel.
        self.event = tools.event(self.data)
        stacks, lost = _read(tools.stacks(self.data), os.getpid(), beat)
        total = sum(stacks.values())
        if not total:
            raise MissingError("perf took no sample: the command used too little time")
        notes = [_CUT] if self.is_cut else []
        if self.rate < self._wanted:
            notes.append(
                f"the rate is {self.rate} Hz, the most that this host allows, instead "
                f"of {self._wanted} Hz"
            )
        table = FunctionTable(stacks, tools, self.began)
        nodes, dropped = call_tree(table.stacks(stacks))
        if dropped:
            notes.append(f"{dropped} samples count for a caller: the tree is too large")
        found = {"samples": total, "lost": lost, "notes": notes, "nodes": nodes}
        functions = _kept_functions(nodes, table.functions)
        return {**found, "binaries": table.binaries, "functions": functions}


def _kept_functions(
    nodes: list[list[int]], functions: list[list[Any]]
) -> list[list[Any]]:
    """Return the functions of the nodes, which then have their new positions."""
    used = sorted({node[1] for node in nodes})
    positions = {old: new for new, old in enumerate(used)}
    for node in nodes:
        node[1] = positions[node[1]]
    return [functions[at] for at in used]


def _read(
    lines: Iterable[bytes], own: int, beat: Callable[[], None]
) -> tuple[Stacks, int]:
    """Count equal stacks and lost samples.

    Those of the process ``own`` are left out, and those of its children until they
    execute a program.
    """
    stacks: Counter[tuple[Frame, ...]] = Counter()
    frames: list[Frame] = []
    lost, pid, ours = 0, own, {own}
    for number, line in enumerate(itertools.chain(lines, [b""])):
        if not number % _LINES_PER_BEAT:
            beat()
        if found := _FRAME_LINE.match(line.rstrip(b"\n")):
            name, path = (os.fsdecode(found[n]) for n in (2, 3))
            frames.append((int(found[1], 16), name, path))
            continue
        if frames and pid not in ours:
            stacks[tuple(frames[::-1])] += 1
        frames = []
        if found := _HEADER.match(line):
            pid = int(found[1])
        elif found := _LOST.match(line):
            lost += int(found[1])
        else:
            _follow_task(line, ours)
    return stacks, lost


def _follow_task(line: bytes, ours: set[int]) -> None:
    """Note which processes have not executed a program yet."""
    if found := _FORKED.match(line):
        if int(found[2]) in ours:
            ours.add(int(found[1]))
    elif found := _EXECUTED.match(line):
        ours.discard(int(found[1]))


class FunctionTable:
    """The functions in stacks, with their files and lines.

    ``binaries`` has the path and the build id of each file, and why it has no names or
    lines; ``functions`` the name, position of the binary, source file and address of
    each function. Without a symbol a function has no name but its address.
    """

    def __init__(self, stacks: Stacks, tools: Tools, began: float) -> None:
        self.binaries: list[dict[str, Any]] = []
        self.functions: list[list[Any]] = []
        self._places: dict[Frame, tuple[int, int]] = {}
        self._known: dict[tuple[Any, ...], int] = {}
        self._tools, self._began = tools, began
        by_path: dict[str, set[Frame]] = {}
        for frame in {frame for stack in stacks for frame in stack}:
            by_path.setdefault(frame[2], set()).add(frame)
        for path, frames in sorted(by_path.items()):
            self._add(path, sorted(frames))

    def stacks(self, stacks: Stacks) -> dict[Stack, int]:
        """Return the stacks as positions of functions, with lines."""
        found: dict[Stack, int] = {}
        for frames, samples in stacks.items():
            stack = tuple(self._places[frame] for frame in frames)
            found[stack] = found.get(stack, 0) + samples
        return found

    def _add(self, path: str, frames: list[Frame]) -> None:
        about = {"path": printable(path), "build_id": "", "reason": ""}
        addresses = [offset for offset, _, _ in frames]
        spans: list[tuple[int, int]] = []
        lines: list[tuple[str, int]] = [("", 0)] * len(frames)
        try:
            addresses = self._read_file(path, addresses, about)
            if any(name == "[unknown]" for _, name, _ in frames):
                about["reason"] = _NO_SYMBOLS
                spans = sorted(function_spans(path, self._tools))
            lines = self._lines(path, addresses)
        except (OSError, struct.error, MissingError) as error:
            about["reason"] = about["reason"] or str(error)[:300]
        self.binaries.append(about)
        for frame, address, (file, line) in zip(frames, addresses, lines):  # noqa: B905
            name, start = frame[1], 0
            if name == "[unknown]":
                name, start = "", _start(spans, address)
            self._places[frame] = (self._function(name, start, file), line)

    def _function(self, name: str, start: int, file: str) -> int:
        binary = len(self.binaries) - 1
        key = (name, binary, start)
        if key not in self._known:
            self._known[key] = len(self.functions)
            self.functions.append([printable(name)[:_MOST_NAME], binary, file, start])
        return self._known[key]

    def _read_file(
        self, path: str, offsets: list[int], about: dict[str, str]
    ) -> list[int]:
        """Return the addresses of offsets; note the build id and what is missing."""
        if not path.startswith("/") or path.startswith(("//", "/memfd:")):
            raise MissingError("the code was generated while it ran")
        if path.endswith(".map"):
            raise MissingError("generated code, with the names of its perf map")
        state = os.stat(path)  # noqa: PTH116
        if max(state.st_mtime, state.st_ctime) > self._began:
            raise MissingError("the file was changed during the run")
        segments = list(segments_of(path))
        loaded = [one for one in segments if one[0] == _LOAD]
        about["build_id"] = build_id_of(path, segments)
        if not any(one[0] == _UNWIND_TABLE for one in segments):
            about["reason"] = _NO_TABLE
        return [_address(loaded, at) for at in offsets]

    def _lines(self, path: str, addresses: list[int]) -> list[tuple[str, int]]:
        words = [f"--obj={path}", "--functions=none", "--no-inlines"]
        text = "".join(f"{at:#x}\n" for at in addresses)
        found = self._tools.output("llvm-symbolizer", words, text).splitlines()
        places = [_place(line) for line in found if line.strip()]
        if len(places) != len(addresses):
            raise MissingError("llvm-symbolizer gave another number of lines")
        return places


def _address(segments: list[Any], offset: int) -> int:
    for _, _, at, address, _, size, _, _ in segments:
        if at <= offset < at + size:
            return int(offset - at + address)
    return offset


def _start(spans: list[tuple[int, int]], address: int) -> int:
    """Return the start of the function at an address; the address if none is known."""
    at = bisect_right(spans, (address, 1 << 64)) - 1
    if at >= 0 and spans[at][0] <= address < spans[at][1]:
        return spans[at][0]
    return address


def _place(line: str) -> tuple[str, int]:
    with suppress(ValueError):
        file, number, _ = line.rsplit(":", 2)
        if int(number):
            return printable(file), int(number)
    return "", 0


def call_tree(stacks: dict[Stack, int]) -> tuple[list[list[int]], int]:
    """Merge stacks into a tree; return its nodes, and the samples of dropped ones.

    A node has the position of its caller, or -1, of its function, its line or 0, and
    the samples that ended in it. A caller comes before what it calls. If there are too
    many nodes, those of the same function but other lines become one; if there are
    still too many, the samples of those with the fewest count for their callers.
    """
    paths = _whole(stacks)
    if len(paths) > MOST_NODES:
        paths = _whole(_without_lines(stacks))
    kept = sorted(paths, key=lambda path: (-paths[path][1], len(path)))[:MOST_NODES]
    positions = {path: at for at, path in enumerate(sorted(kept))}
    nodes = [[positions.get(p[:-1], -1), *p[-1], 0] for p in sorted(kept)]
    dropped = 0
    for path, (own, _) in paths.items():
        if path not in positions:
            dropped += own
        while path and path not in positions:
            path = path[:-1]
        if path:
            nodes[positions[path]][3] += own
    return nodes, dropped


def _whole(stacks: dict[Stack, int]) -> dict[Stack, tuple[int, int]]:
    """Return the own samples of each path in a tree, and all of it and below it."""
    total: Counter[Stack] = Counter()
    for stack, samples in stacks.items():
        for depth in range(1, len(stack) + 1):
            total[stack[:depth]] += samples
    return {path: (stacks.get(path, 0), samples) for path, samples in total.items()}


def _without_lines(stacks: dict[Stack, int]) -> dict[Stack, int]:
    found: dict[Stack, int] = {}
    for stack, samples in stacks.items():
        short = tuple((function, 0) for function, _ in stack)
        found[short] = found.get(short, 0) + samples
    return found
