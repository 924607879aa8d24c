"""Records where the threads of a command wait, and how long, with perf.

It is sent to the host of the command, so it imports only what is sent with it. Nothing
here fails a run: what goes wrong is the reason why something is missing.

perf takes the stack of a thread that leaves its CPU, and tells when each thread leaves
and gets a CPU. A busy program leaves more often than perf can write stacks. Short waits
are then many, and the few long ones matter, so waits without a stack count for those of
the same thread that were as long.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import Any, Collection, Iterable, Iterator, Tuple

from observations.hot_loops.llvm import MissingError, Tools
from observations.profiles.perf import (
    FRAME,
    LOST,
    MOST_FRAMES,
    MOST_STACKS,
    Frame,
    ProfileRecording,
    Stack,
    document_of,
    frame_of,
    sources_of,
    stack_of,
    whole_frames,
)
from observations.profiles.programs import separate_programs

_MOST_WAIT_BYTES = 256 << 20
_SWITCHED = re.compile(
    rb"\s*(\d+)/(\d+)\s+(\d+)\.(\d{9}):.*?"
    rb"(?:PERF_RECORD_SWITCH (IN|OUT preempt|OUT)|context-switches)"
)
_KERNEL = 1 << 63
# A thread that could go on, while others had the CPU.
_PREEMPTED: Frame = ("[waits for a CPU]", "[kernel]")
_NO_STACK: Stack = (("[no stack]", "[unknown]"),)
_WAITS_CUT = "perf stopped at 256 MiB of waits: the shares are of the time until then"
_WAITS_OMITTED = (
    "of {} different stacks, the {} with most time are kept: {:.3g} s are not"
)
_ESTIMATED = "{} of {} waits have a stack; it stands for the thread's others as long"
_NEARLY_ALL = 0.99
# Of all CPUs together, and of one; perf takes powers of two.
_BUFFERS_KIB, _MOST_BUFFER_KIB, _LEAST_KIB_BITS = 64 << 10, 8 << 10, 9
# The thread, whether it could go on, and the bits of the time in ns.
_Kind = Tuple[int, bool, int]


class Waits:
    """How long threads waited, without those of the processes ``others``.

    ``count`` is the number of waits, ``sampled`` of those with a stack. A wait that has
    not ended is not one.
    """

    def __init__(self, lines: Iterable[bytes], others: Collection[int]) -> None:
        self.lost = self.count = self.sampled = 0
        self.addresses: dict[Frame, Counter[int]] = {}
        self._ns: Counter[_Kind] = Counter()
        self._sampled_ns: dict[_Kind, Counter[Stack]] = {}
        # Of each thread without a CPU: since when, whether it could go on, its frames.
        self._off: dict[int, tuple[int, bool, list[tuple[Frame, int]]]] = {}
        self._follow(lines, others)

    def stacks(self) -> Counter[Stack]:
        """Return the time of each stack in ns, outermost call first."""
        found: Counter[Stack] = Counter()
        for kind, ns in self._ns.items():
            sampled = self._sampled_ns.get(kind, {_NO_STACK: 1})
            scale = ns / sum(sampled.values())
            for stack, own in sampled.items():
                found[stack] += round(own * scale)
        return found

    def _follow(self, lines: Iterable[bytes], others: Collection[int]) -> None:
        frames: list[tuple[Frame, int]] = []
        last: dict[int, list[tuple[Frame, int]]] = {}
        for line in whole_frames(lines):
            if found := FRAME.match(line):
                if int(found[1], 16) < _KERNEL:
                    frames.append(frame_of(found))
            elif lost := LOST.match(line):
                self.lost += int(lost[1])
            elif (switched := _SWITCHED.match(line)) and int(switched[1]) not in others:
                thread, how = int(switched[2]), switched[5]
                ns = int(switched[3]) * 1_000_000_000 + int(switched[4])
                frames = []
                if how is None:
                    last[thread] = frames
                elif how == b"IN":
                    self._end(thread, ns)
                else:
                    stack = last.pop(thread, [])
                    self._off[thread] = ns, how != b"OUT", stack
            elif switched:
                frames = []

    def _end(self, thread: int, ns: int) -> None:
        """Count the wait of a thread that gets a CPU."""
        since, preempted, frames = self._off.pop(thread, (ns, False, []))
        if ns <= since:
            return
        self.count += 1
        kind = thread, preempted, (ns - since).bit_length()
        self._ns[kind] += ns - since
        if not frames:
            return
        self.sampled += 1
        frame, at = frames[0]
        self.addresses.setdefault(frame, Counter())[at] += 1
        stack = stack_of(frames) + ((_PREEMPTED,) if preempted else ())
        self._sampled_ns.setdefault(kind, Counter())[stack] += ns - since


class WaitRecording(ProfileRecording):
    """Records the waits of all processes that this process starts."""

    most_bytes = _MOST_WAIT_BYTES
    events: tuple[str, ...] = ("context-switches:k",)
    # It is the kernel that leaves a CPU.
    most_paranoid = 1

    def __init__(self, env: dict[str, str]) -> None:
        super().__init__(env, 1)
        self.options += ("--switch-events", *_buffer())
        self._others = frozenset([os.getpid()])

    @property
    def found(self) -> str:
        """The path of perf; empty if there is none."""
        return self._found

    def without(self, others: frozenset[int]) -> None:
        """Leave out other processes of ours that it may have recorded."""
        self._others |= others

    def _frequency(self) -> tuple[str, ...]:
        return "-c", "1"

    def report(self, tools: Tools) -> dict[str, Any]:
        """Return what was recorded; without waits, the reason."""
        found = {**self._nothing(), "waits": 0, "waited_ns": 0, "stacks": []}
        try:
            if not self._reason:
                found = self._read(tools)
        except (OSError, MissingError) as error:
            self._reason = str(error)[:300]
        finally:
            self.discard()
        return {"reason": self._reason, "sampler": self._event, **found}

    def _read(self, tools: Tools) -> dict[str, Any]:
        separate_programs(self._data, os.getpid())
        waits = Waits(tools.switch_lines(self._data, MOST_FRAMES), self._others)
        if not waits.count:
            raise MissingError("the command did not wait")
        stacks = waits.stacks()
        kept = {s: ns for s, ns in stacks.most_common(MOST_STACKS) if ns}
        sources = sources_of(waits.addresses, tools)
        waited = sum(stacks.values())
        omitted = (waited - sum(kept.values())) / 1e9
        notes = self._wait_notes(waits, len(stacks), omitted)
        return {
            "waits": waits.count,
            "waited_ns": waited,
            "samples": waits.sampled,
            "lost": waits.lost,
            "note": "; ".join(notes),
            **document_of(kept, sources, self._began, tools),
        }

    def _wait_notes(self, waits: Waits, stacks: int, omitted: float) -> Iterator[str]:
        if waits.sampled < _NEARLY_ALL * waits.count:
            yield _ESTIMATED.format(waits.sampled, waits.count)
        if omitted:
            yield _WAITS_OMITTED.format(stacks, MOST_STACKS, omitted)
        if os.stat(self._data).st_size >= _MOST_WAIT_BYTES:  # noqa: PTH116
            yield _WAITS_CUT


def _buffer() -> tuple[str, ...]:
    """Return the option for a larger buffer of each CPU, which only root may lock.

    Threads that leave their CPUs often fill perf's own while it waits for a CPU.
    """
    if os.geteuid():
        return ()
    each = _BUFFERS_KIB // (os.cpu_count() or 1)
    kib = 1 << max(each.bit_length() - 1, _LEAST_KIB_BITS)
    return "-m", f"{min(kib, _MOST_BUFFER_KIB)}K"


class FullProfileRecording(ProfileRecording):
    """Samples stacks on the CPU, and records where threads wait.

    Two processes of perf do it, so that many waits do not end the profile on the CPU.
    """

    def __init__(self, env: dict[str, str], rate: int) -> None:
        super().__init__(env, rate)
        self._waits = WaitRecording(env)

    @property
    def pids(self) -> frozenset[int]:
        """The processes of perf while they run."""
        return super().pids | self._waits.pids

    def begin(self) -> None:
        """Attach both to this process, for the processes that it will start."""
        self._waits.begin()
        # While waits are recorded, this process starts nothing but the other perf.
        self._found = self._waits.found
        super().begin()
        self._waits.without(super().pids)

    def end(self) -> None:
        """Stop both; they have ended when this returns."""
        super().end()
        self._waits.end()

    def recorded(self, beat: Any) -> dict[str, Any]:
        """Return both profiles; calls ``beat`` at least every 10 s."""
        waits = self._waits.recorded(beat)  # the other report discards all
        return {**super().recorded(beat), "off_cpu": waits}

    def discard(self) -> None:
        """Remove what was recorded."""
        super().discard()
        self._waits.discard()
