"""HPCG (Heroux et al., 2013): its input, and the file with its rating."""

from collections.abc import Mapping, Sequence

from benchmarks.errors import BenchmarkOutputError
from benchmarks.installed.fields import figure, line, number, whole
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
_RATING = "Final Summary::HPCG result is VALID with a GFLOP/s rating of"


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
    parted = (each.partition("=") for each in printed.splitlines())
    pairs = {name: value.strip() for name, _, value in parted}
    if pairs.get("Final Summary::HPCG result is", "").startswith("INVALID"):
        raise BenchmarkOutputError("HPCG says that its result is invalid")
    tool = line("version", f"HPCG {pairs.get('version', '3')}")
    processes, threads = _threads(pairs)
    edges = (_count(pairs, f"Local Domain Dimensions::n{axis}") for axis in "xyz")
    grid = f"{'x'.join(map(str, edges))} on each of {processes}"
    rates = {each: f"GFLOP/s Summary::Raw {each}" for each in _KERNELS}
    return [
        Result(kernel, "FLOPS", threads, rate, rate, 1, kind=grid, tool=tool)
        for kernel, name in {**rates, "HPCG": _RATING}.items()
        for rate in [figure(name, number(name, pairs.get(name)), _GIGA)]
    ]


def _threads(pairs: Mapping[str, str]) -> tuple[int, int]:
    """Return the number of processes, and that of all their threads."""
    processes = _count(pairs, "Machine Summary::Distributed Processes")
    each = _count(pairs, "Machine Summary::Threads per processes")
    return processes, whole("the number of all threads", processes * each)


def _count(pairs: Mapping[str, str], name: str) -> int:
    return whole(name, pairs.get(name))
