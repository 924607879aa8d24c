"""What the recorder of POP metrics costs: CPU time of programs with and without it.

The second figure of a program is that of the recorder with a trace. Each pair runs a
program twice, in random order. Pairs are added until the interval is on one side of the
goal, at most 200.
"""

import math
import os
import random
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.sampling.stats import Estimate, changes
from bench.table import Figure
from observations.pop.recording import TimeRecording
from observations.pop.times import sources

_KERNELS = Path(__file__).parent / "sampling" / "kernels"
# About a second of CPU time each; CG has thousands of parallel loops and reductions.
_PROGRAMS: Mapping[str, tuple[str, ...]] = {"ep": ("1",), "cg": ("10",)}
_LOOKS = (20, 60, 120, 200)
_GOAL = 1.0


def pop_figures() -> Iterator[Figure]:
    """Yield the overhead for each program, the upper end of its 95 % interval."""
    with tempfile.TemporaryDirectory(prefix="supertwin-bench-") as folder:
        for name, words in _PROGRAMS.items():
            program = _built(name, Path(folder))
            for option, trace in (("--pop", False), ("--trace", True)):
                found = _overhead([program, *words], trace)
                what = f"observe {option}: CPU time of {name.upper()} on libomp, "
                what += f"{found}, {found.number} pairs"
                yield Figure(what, found.high, "%", _GOAL)


def _built(name: str, folder: Path) -> str:
    """Compile a kernel for libomp: GCC links its own library if it sees -fopenmp."""
    whole, parts = folder / name, folder / f"{name}.o"
    for words in (
        ["gcc", "-O2", "-fopenmp", "-c", f"{_KERNELS / name}.c", "-o", str(parts)],
        ["gcc", str(parts), "-o", str(whole), "-l:libomp.so.5", "-lm"],
    ):
        subprocess.run(words, check=True, timeout=120)
    return str(whole)


def _overhead(words: Sequence[str], trace: bool) -> Estimate:
    plain = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    request = {"sources": sources(), "trace": trace}
    recording = TimeRecording(request, [*words], plain)
    both = {False: plain, True: {**plain, **recording.variables}}
    for environment in both.values():  # into the caches
        _cpu_seconds(words, environment)
    order, logs = random.Random(22), list[float]()
    for pairs in _LOOKS:
        while len(logs) < pairs:
            taken = {
                with_it: _cpu_seconds(words, both[with_it])
                for with_it in order.sample([False, True], 2)
            }
            logs.append(math.log(taken[True] / taken[False]))
        found = changes(logs)
        if found.high <= _GOAL or found.low > _GOAL:
            break
    times = recording.times()
    assert times["processes"], times["reason"]
    return found


def _cpu_seconds(words: Sequence[str], environment: Mapping[str, str]) -> float:
    process = subprocess.Popen(
        words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    assert status == 0, words
    return usage.ru_utime + usage.ru_stime
