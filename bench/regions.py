"""What the beginning and end of a region cost: ns of CPU time for each pair."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from bench.table import Figure
from observations.launch import program
from observations.regions.regions import sources

_PAIRS, _LINES, _RUNS = 1_000_000, 100_000, 5
_LIBRARY = """
int likwid_markerStartRegion(const char *name) { (void)name; return 0; }
int likwid_markerStopRegion(const char *name) { (void)name; return 0; }
"""
_LOOP = """
#include <stdlib.h>
int likwid_markerStartRegion(const char *);
int likwid_markerStopRegion(const char *);
int main(int argc, char **argv) {
    for (long i = 0; argc > 1 && i < atol(argv[1]); i++) {
        likwid_markerStartRegion("region");
        likwid_markerStopRegion("region");
    }
}
"""
_PYTHON = """
import os, sys
with open(os.environ["SUPERTWIN_REGIONS"], "w", buffering=1) as lines:
    for _ in range(int(sys.argv[1])):
        print("begin region", file=lines)
        print("end region", file=lines)
"""
# Software events: the cost of reading one is that of a system call.
_EVENT = {"name": "software::page-faults", "type": 1, "config": 2}


def _compile(folder: Path, name: str, text: str, *words: str) -> None:
    command = ["cc", "-O2", "-x", "c", "-", "-o", str(folder / name), *words]
    subprocess.run(command, input=text.encode(), check=True)


def _used(argv: Sequence[str], regions: dict[str, Any] | None) -> float:
    """Return the CPU seconds of a command; ``regions`` asks for the recorder."""
    request = {"argv": list(argv), **({"regions": regions} if regions else {})}
    words = [sys.executable, "-I", "-"]
    text = program(request)
    done = subprocess.run(words, input=text, capture_output=True, check=True)
    ended = json.loads(done.stdout.splitlines()[-1])["rusage"]
    return float(ended["user_seconds"] + ended["system_seconds"])


def _cost(argv: Sequence[str], pairs: int, regions: dict[str, Any] | None) -> float:
    """Return the median ns for each pair."""
    costs = []
    for _ in range(_RUNS):
        nothing = _used([*argv, "0"], regions)
        costs.append((_used([*argv, str(pairs)], regions) - nothing) / pairs * 1e9)
    return median(costs)


def region_figures() -> Iterator[Figure]:
    """Yield the cost of each way to name a region, the median of some runs."""
    with TemporaryDirectory(prefix="supertwin-bench-") as name:
        folder = Path(name)
        _compile(folder, "libmarker.so", _LIBRARY, "-shared", "-fPIC")
        link = [f"-L{folder}", "-lmarker", f"-Wl,-rpath,{folder}"]
        _compile(folder, "loop", _LOOP, *link)
        loop, lines = [str(folder / "loop")], [sys.executable, "-c", _PYTHON]
        recorder: dict[str, Any] = {"sources": sources(), "events": []}
        counting = {**recorder, "events": [_EVENT]}
        yield _figure("empty functions", _cost(loop, _PAIRS, None))
        yield _figure("the recorder", _cost(loop, _PAIRS, recorder))
        yield _figure("the recorder with an event", _cost(loop, _PAIRS, counting))
        yield _figure("lines from Python", _cost(lines, _LINES, recorder))


def _figure(how: str, ns: float) -> Figure:
    return Figure(f"begin and end a region: {how}", ns, "ns")
