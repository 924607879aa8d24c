"""HPCG (Heroux et al., 2013): its input, and the file with its rating."""

import math
import re
from collections.abc import Sequence

from benchmarks.errors import BenchmarkOutputError
from benchmarks.launch import FileRun, in_a_folder
from benchmarks.results import Result

NAME, PROGRAM = "hpcg", "xhpcg"
# A source folder of HPCG has this file.
SOURCE = "src/ComputeMG_ref.cpp"
# The edge of a process's grid in HPCG's rules; its matrix exceeds the caches.
EDGE = 104
_INPUT = """HPCG benchmark input file
Sandia National Laboratories; University of Tennessee, Knoxville
{edge} {edge} {edge}
{seconds}
"""
# HPCG's report says 0.72 kB for each row, with the coarser grids.
_BYTES_OF_A_ROW = 800
_KERNELS = ("DDOT", "WAXPBY", "SpMV", "MG", "Total")
_GIGA = 1e9
_PAIR = re.compile(r"^(?:(.+)::)?([^=\n]+)=(.*)$", re.M)
_RATING = "HPCG result is VALID with a GFLOP/s rating of"


def hpcg_command(
    program: str, processes: int, seconds: int, edge: int = EDGE
) -> Sequence[str]:
    """Return the command that runs ``xhpcg``; ``edge`` is that of a process's grid."""
    given = _INPUT.format(edge=edge, seconds=seconds)
    memory = processes * _BYTES_OF_A_ROW * edge**3
    run = FileRun(program, memory, given, "hpcg.dat", "HPCG-Benchmark*.txt")
    return in_a_folder(run, processes)


def read_hpcg(printed: str) -> list[Result]:
    """Read the kernels and the rating of HPCG 3.1; raises BenchmarkOutputError."""
    pairs = {(of, name): value for of, name, value in _PAIR.findall(printed)}
    if pairs.get(("Final Summary", "HPCG result is"), "").startswith("INVALID"):
        raise BenchmarkOutputError("HPCG says that its result is invalid")
    rating = _number(pairs, "Final Summary", _RATING)
    tool = f"HPCG {pairs.get(('', 'version'), '3')}"
    processes = _count(pairs, "Distributed Processes")
    threads = processes * _count(pairs, "Threads per processes")
    edges = (_count(pairs, f"n{axis}", "Local Domain Dimensions") for axis in "xyz")
    grid = f"{'x'.join(map(str, edges))} on each of {processes}"
    values = {
        **{each: _number(pairs, "GFLOP/s Summary", f"Raw {each}") for each in _KERNELS},
        "HPCG": rating,
    }
    return [
        Result(kernel, "FLOPS", threads, rate, rate, 1, kind=grid, tool=tool)
        for kernel, value in values.items()
        for rate in [_GIGA * value]
    ]


def _count(
    pairs: dict[tuple[str, str], str], name: str, of: str = "Machine Summary"
) -> int:
    return int(_number(pairs, of, name))


def _number(pairs: dict[tuple[str, str], str], of: str, name: str) -> float:
    text = pairs.get((of, name), "").strip()
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise BenchmarkOutputError(
            f"it is not a whole report of HPCG 3.1: {name!r} is "
            f"{text[:40] or 'missing'}"
        )
    return value
