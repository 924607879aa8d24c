"""Samples the loops that a command computes in, with perf.

It is sent to the host of the command, so it imports only what is sent with it. Nothing
here fails a run: what goes wrong is the reason why something is missing.
"""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Dict, Iterable

from observations.hot_loops.code import Binary
from observations.hot_loops.llvm import MissingError, Tools
from observations.perf_sampling import PerfSampling, possible_rate

_RATE, _MOST_BYTES = 499, 64 << 20
_CUT = "perf stopped at 64 MiB of samples: the shares are of the time until then"
_LEAST_SHARE, _LEAST_SAMPLES = 0.02, 5
_MAPPED = re.compile(
    rb"\s*\d+ PERF_RECORD_MMAP2 (\d+)/\d+: "
    rb"\[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+) [^\]]*\]: ..x. (.+)"
)
_SAMPLED = re.compile(rb"\s*(\d+)\s+([0-9a-f]+) \((.*)\)")
Counts = Dict[int, int]


class LoopRecording(PerfSampling):
    """Samples all processes that this process starts, and analyses the samples."""

    def __init__(self, env: dict[str, str], _wanted: object) -> None:
        super().__init__(env, possible_rate(_RATE), _MOST_BYTES)

    def result(self, beat: Callable[[], None]) -> dict[str, Any]:
        """Return the hot functions and loops; calls ``beat`` at least every 10 s."""
        found: dict[str, Any] = {"functions": [], "loops": [], "samples": 0, "note": ""}
        tools = Tools(self.env, self.found, beat)
        try:
            if not self.reason:
                found = self._analyse(tools)
        except (OSError, MissingError) as error:
            self.reason = str(error)[:300]
        finally:
            self.discard()
        sampled = {"sampler": self.event, "rate": self.rate}
        about = {**tools.about, "machine": os.uname().machine}
        return {"reason": self.reason, **sampled, **about, **found}

    def _analyse(self, tools: Tools) -> dict[str, Any]:
        # Where there is no PMU, perf may count cycles by a timer of the kernel.
        self.event = tools.event(self.data)
        counts = _count(tools.perf_lines(self.data), os.getpid())
        total = sum(sum(one.values()) for one in counts.values())
        if not total:
            raise MissingError("perf took no sample: the command used too little time")
        least = max(_LEAST_SHARE * total, _LEAST_SAMPLES)
        functions: list[dict[str, Any]] = []
        loops: list[dict[str, Any]] = []
        for path, offsets in sorted(counts.items()):
            if sum(offsets.values()) >= least:
                hot = Binary(path, offsets, tools, self.began).functions(least)
                for function, within in hot:
                    loops += [{"function": len(functions), **one} for one in within]
                    functions.append(function)
        found = {"samples": total, "functions": functions, "loops": loops}
        return {**found, "note": _CUT if self.is_cut else ""}


def _count(lines: Iterable[bytes], own: int) -> dict[str, Counts]:
    """Count samples by file and offset, without those of the process ``own``.

    Code without a file counts at offset 0.
    """
    maps: dict[str, list[tuple[int, int, int, int]]] = {}
    counts: dict[str, Counts] = {}
    for line in lines:
        if found := _MAPPED.match(line):
            path = _path(found[5])
            start, size, offset = (int(found[n], 16) for n in (2, 3, 4))
            maps.setdefault(path, []).append((int(found[1]), start, size, offset))
        elif (found := _SAMPLED.match(line)) and int(found[1]) != own:
            path, pid, at = _path(found[3]), int(found[1]), int(found[2], 16)
            offset = _offset(maps.get(path, []), pid, at)
            within = counts.setdefault(path, {})
            within[offset] = within.get(offset, 0) + 1
    return counts


def _path(name: bytes) -> str:
    return os.fsdecode(name.rstrip(b"\n"))


def _offset(maps: list[tuple[int, int, int, int]], pid: int, at: int) -> int:
    """Return the offset in the file; a forked process has no map of its own."""
    fits = [one for one in maps if one[1] <= at < one[1] + one[2]]
    own = [one for one in fits if one[0] == pid] or fits
    return at - own[-1][1] + own[-1][3] if own else 0
