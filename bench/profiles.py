"""What a profile costs: CPU time of a computing command with and without it, paired."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
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


def _used(path: str, rate: int) -> float:
    """Return the CPU seconds of the command."""
    request = {"argv": [path], **({"profile": rate} if rate else {})}
    words = [sys.executable, "-I", "-"]
    text = program(request)
    done = subprocess.run(words, input=text, capture_output=True, check=True)
    ended = json.loads(done.stdout.splitlines()[-1])["rusage"]
    return float(ended["user_seconds"] + ended["system_seconds"])


def profile_figures() -> Iterator[Figure]:
    """Measure pairs of runs, in turn with and without stacks at 99 Hz."""
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "ep")
        words = ["cc", "-O2", "-x", "c", "-", "-o", path, "-lm"]
        subprocess.run(words, input=_LOOP.encode(), check=True)
        costs = []
        for _ in range(_PAIRS):
            plain = _used(path, 0)
            costs.append(100 * (_used(path, _RATE) / plain - 1))
        yield Figure("CPU time that stacks at 99 Hz add, median", median(costs), "%")
        yield Figure("the same, most of 9 pairs", max(costs), "%")
