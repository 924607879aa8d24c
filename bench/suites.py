"""What the suites measure next to a peer or a limit: in pairs, on all CPUs.

Pairs alternate, because the speed of memory changes on a shared machine.
"""

import json
import math
import os
import re
import shutil
import statistics
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.sampling.stats import changes
from bench.table import Figure
from benchmarks.installed.hpcc import SMALL_ORDER, hpcc_command, read_hpcc
from benchmarks.launch import by_mpirun
from benchmarks.programs import Target, compiled
from benchmarks.results import Result, read_results
from benchmarks.suites import SUITES

_PAIRS = 12
_CPUS = len(os.sched_getaffinity(0))
# Each of the three arrays, and the matrix, exceed most caches ten times.
_ELEMENTS, _ROWS = 40_000_000, 500_000
_DRAM = f"DRAM:{128 * 1024 * 1024}"
_LOADS = ("load", "DRAM")
# likwid-bench shares the memory of a working set between its arrays and its threads.
_STREAM_WORK = f"-w N:{3 * 8 * _ELEMENTS // 1000}kB:{_CPUS} -i 10"
_PEAK_WORK = f"-w N:{16 * _CPUS}kB:{_CPUS} -i 500000"
_RATE = re.compile(r"^M(?:Byte|Flops)/s:\s+([\d.]+)$", re.M)
_MEGA = 1e6
_VECTORS = {"avx512f": "avx512_fma", "fma": "avx_fma", "avx": "avx", "sse2": "sse"}


@dataclass(frozen=True)
class _Pair:
    """Two measurements of the same thing, and what the first is to reach in percent."""

    what: str
    ours: Callable[[], float]
    theirs: Callable[[], float]
    peer: str
    goal: float
    at_least: bool = True

    def figure(self) -> Figure:
        """Measure all pairs."""
        logs = [math.log(self.ours() / self.theirs()) for _ in range(_PAIRS)]
        found = changes(logs)
        ends = f"{100 + found.low:.1f} to {100 + found.high:.1f}"
        what = f"{self.what}, {found.number} pairs ({ends})"
        value = 100 + found.value
        return Figure(what, value, "%", self.goal, 100, self.peer, self.at_least)


def suite_figures() -> Iterator[Figure]:
    """Yield each figure in percent of its peer's, with its 95 % interval."""
    for pair in _pairs():
        yield pair.figure()


def _pairs() -> Iterator[_Pair]:
    if shutil.which("likwid-bench"):
        stream, peak = _widest("stream_mem"), _widest("peakflops")
        yield _Pair("triad", _triad, lambda: _likwid(stream, _STREAM_WORK), stream, 99)
        yield _Pair("peak", _peak, lambda: _likwid(peak, _PEAK_WORK), peak, 99)
    yield _Pair("SpMV of CG", _spmv, _roof, "DRAM roof", 80)
    if shutil.which("hpcc"):
        yield _Pair("ping-pong of 8 B", _ping_pong, _hpcc, "HPCC", 105, at_least=False)


def _triad() -> float:
    # As likwid-bench: the mean of all passes.
    printed = _printed((_program("stream"), "10", str(_ELEMENTS)))
    lines = [json.loads(line) for line in printed.splitlines()]
    return max(
        one["work"] / statistics.mean(one["seconds"])
        for one in lines
        if one["kernel"] == "triad"
    )


def _peak() -> float:
    rates = _measured("carm", "6", "0.02", "widest")
    return max(
        one.value for one in rates if (one.kernel, one.precision) == ("fma", "double")
    )


def _spmv() -> float:
    rates = _measured("cg", "6", str(_ROWS))
    return next(
        one.value for one in rates if (one.kernel, one.kind) == ("SpMV", "bytes moved")
    )


def _roof() -> float:
    rates = _measured("carm", "6", "0.02", "widest", _DRAM)
    return max(one.value for one in rates if (one.kernel, one.level) == _LOADS)


def _ping_pong() -> float:
    (time, *_) = _measured("mpi", "9", "0.03", "8", start=by_mpirun(2))
    return time.value


def _hpcc() -> float:
    found = read_hpcc(_printed(hpcc_command(2, SMALL_ORDER)))
    return next(
        one.value for one in found if (one.kernel, one.kind) == ("ping-pong", "latency")
    )


def _measured(suite: str, *words: str, start: Sequence[str] = ()) -> list[Result]:
    return read_results(_printed((*start, _program(suite), *words)))


@cache
def _program(suite: str) -> str:
    one = SUITES[suite]
    return compiled(one.name, one.flags, Target("this machine"), one.compiler).path


def _widest(kind: str) -> str:
    """Return likwid's kernel with the widest vectors of this machine."""
    flags = Path("/proc/cpuinfo").read_text().split("flags", 2)[1].split()
    vectors = next(isa for flag, isa in _VECTORS.items() if flag in flags)
    return f"{kind}_{vectors}"


def _likwid(kernel: str, work: str) -> float:
    """Return the rate that likwid-bench prints, in FLOP/s or bytes per second."""
    printed = _printed(("likwid-bench", "-t", kernel, *work.split()))
    flops, moved = (_MEGA * float(one) for one in _RATE.findall(printed))
    return flops if kernel.startswith("peakflops") else moved


def _printed(words: Sequence[str]) -> str:
    return subprocess.run(  # noqa: S603
        words, check=True, capture_output=True, text=True
    ).stdout
