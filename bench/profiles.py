"""What a profile costs: CPU time of a computing command with and without it, paired."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage, struct_rusage
from statistics import median
from tempfile import TemporaryDirectory

from bench.table import Figure
from observations.launch import program

_RATE, _PAIRS = 99, 9
# Like EP of the NAS benchmarks: random numbers and their logarithms.
_LOOP = """
#include <math.h>
#include <stdio.h>
int main(void) {
    double x = 0.3, sum = 0;
    for (long i = 0; i < 60000000; i++) {
        x = x * 16807.0 + 0.1;
        x -= floor(x);
        sum += sqrt(-2 * log(x + 1e-9));
    }
    printf("%g\\n", sum);
}
"""


def _used(path: str, rate: int) -> tuple[float, float]:
    """Return the CPU seconds of the command, and of it with all that records it."""
    request = {"argv": [path], **({"profile": rate} if rate else {})}
    words = [sys.executable, "-I", "-"]
    text = program(request)
    before = _seconds(getrusage(RUSAGE_CHILDREN))
    done = subprocess.run(words, input=text, capture_output=True, check=True)
    after = _seconds(getrusage(RUSAGE_CHILDREN))
    ended = json.loads(done.stdout.splitlines()[-1])["rusage"]
    return ended["user_seconds"] + ended["system_seconds"], after - before


def _seconds(used: struct_rusage) -> float:
    return used.ru_utime + used.ru_stime


def profile_figures() -> Iterator[Figure]:
    """Measure pairs of runs, in turn with and without stacks at 99 Hz."""
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "ep")
        words = ["cc", "-O2", "-x", "c", "-", "-o", path, "-lm"]
        subprocess.run(words, input=_LOOP.encode(), check=True)
        own, others = [], []
        for _ in range(_PAIRS):
            plain, profiled = _used(path, 0), _used(path, _RATE)
            own.append(100 * (profiled[0] / plain[0] - 1))
            others.append(profiled[1] - profiled[0] - (plain[1] - plain[0]))
        yield Figure("stacks at 99 Hz: CPU time of the command", median(own), "%")
        yield Figure("the same: perf and the analysis of a run", median(others), "s")
