"""HPC Challenge (Luszczek et al., 2006): its input, and its summary."""

import math
from collections.abc import Mapping, Sequence

from benchmarks.errors import BenchmarkOutputError
from benchmarks.installed.fields import MOST_ELEMENTS, figure, line, number, whole
from benchmarks.launch import FileRun, in_a_folder
from benchmarks.results import Result

NAME = "hpcc"
_INPUT = """HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out
8
1
{order}
1
{block}
0
1
{rows}
{columns}
16.0
1
2
1
4
1
2
1
1
1
1
1
0
2
64
0
0
1
8
# separator
0
1200
0
40
"""
_BLOCK = 128
# For a quick run: seconds on one core.
SMALL_ORDER = 1000
# All parts take sizes that follow from HPL's matrix; RandomAccess needs the most.
_TIMES_MATRIX, _DOUBLE = 2, 8
_GIGA, _MICRO_IN_NANO = 1e9, 1e3
_VERSION = ("Major", "Minor", "Micro")
_ALL, _EACH, _ONE = "all processes", "each process", "one process"
# Name in the summary: kernel, kind, unit, factor to that unit, and whose order it has.
_FIGURES: Mapping[str, tuple[str, str, str, float, str]] = {
    "HPL_Tflops": ("HPL", _ALL, "FLOPS", 1e12, "HPL_N"),
    "StarDGEMM_Gflops": ("DGEMM", _EACH, "FLOPS", _GIGA, "DGEMM_N"),
    "SingleDGEMM_Gflops": ("DGEMM", _ONE, "FLOPS", _GIGA, "DGEMM_N"),
    "PTRANS_GBs": ("PTRANS", _ALL, "BYTE-PER-SEC", _GIGA, "PTRANS_n"),
    "StarFFT_Gflops": ("FFT", _EACH, "FLOPS", _GIGA, "FFT_N"),
    "MPIFFT_Gflops": ("FFT", _ALL, "FLOPS", _GIGA, "MPIFFT_N"),
    "StarRandomAccess_GUPs": (
        *("RandomAccess", _EACH, "NUM-PER-SEC", _GIGA),
        "RandomAccess_N",
    ),
    "MPIRandomAccess_GUPs": (
        *("RandomAccess", _ALL, "NUM-PER-SEC", _GIGA),
        "MPIRandomAccess_N",
    ),
    "StarSTREAM_Triad": ("triad", _EACH, "BYTE-PER-SEC", _GIGA, "STREAM_VectorSize"),
    "AvgPingPongLatency_usec": ("ping-pong", "latency", "NanoSEC", _MICRO_IN_NANO, ""),
    "AvgPingPongBandwidth_GBytes": (
        *("ping-pong", "bandwidth", "BYTE-PER-SEC", _GIGA),
        "",
    ),
    "RandomlyOrderedRingLatency_usec": (
        *("ring", "latency", "NanoSEC", _MICRO_IN_NANO),
        "",
    ),
    "RandomlyOrderedRingBandwidth_GBytes": (
        *("ring", "bandwidth", "BYTE-PER-SEC", _GIGA),
        "",
    ),
}
_BEGIN, _END = "Begin of Summary section.", "End of Summary section."
# What HPCC writes for a figure that it did not measure.
_NOT_MEASURED = (-1, 0)


def hpcc_command(processes: int, order: int) -> Sequence[str]:
    """Return the command that runs HPCC; ``order`` is that of HPL's matrix."""
    rows = max(n for n in range(1, math.isqrt(processes) + 1) if processes % n == 0)
    columns = processes // rows
    given = _INPUT.format(order=order, block=_BLOCK, rows=rows, columns=columns)
    memory = _TIMES_MATRIX * _DOUBLE * order**2
    run = FileRun(NAME, memory, given, "hpccinf.txt", "hpccoutf.txt")
    return in_a_folder(run, processes)


def matrix_order(cores: int) -> int:
    """Return the order of HPL's matrix for some cores: 4000 for one, as 128 MB."""
    return 1000 * math.isqrt(16 * cores)


def read_hpcc(printed: str) -> list[Result]:
    """Read HPCC's summary; raises BenchmarkOutputError if it is cut or has failures."""
    pairs = _summary(printed)
    version = (pairs.get(f"Version{part}", "?") for part in _VERSION)
    tool = line("the version", f"HPCC {'.'.join(version)}")
    processes = whole("CommWorldProcs", pairs.get("CommWorldProcs"))
    missing = _missing(pairs)
    measured = [name for name in _FIGURES if name not in missing]
    if not measured:
        raise BenchmarkOutputError("HPCC measured nothing")
    return [_result(pairs, name, processes, tool) for name in measured]


def missing_in_hpcc(printed: str) -> list[str]:
    """Return the names of the figures in a summary that HPCC did not measure."""
    return _missing(_summary(printed))


def _missing(pairs: Mapping[str, str]) -> list[str]:
    found = {name: number(name, pairs.get(name)) for name in _FIGURES}
    return [name for name, value in found.items() if value in _NOT_MEASURED]


def _result(pairs: Mapping[str, str], name: str, processes: int, tool: str) -> Result:
    kernel, kind, unit, factor, size = _FIGURES[name]
    value = figure(name, number(name, pairs.get(name)), factor)
    order = whole(size, pairs.get(size), MOST_ELEMENTS) if size else None
    return Result(
        kernel, unit, processes, value, value, 1, kind=kind, tool=tool, order=order
    )


def _summary(printed: str) -> Mapping[str, str]:
    """Return what is in the last summary; hpcc appends its output to the file."""
    _, begin, rest = printed.rpartition(_BEGIN)
    summary, end, _ = rest.partition(_END)
    if not (begin and end):
        raise BenchmarkOutputError("it has no complete summary of HPCC")
    parted = (each.partition("=") for each in summary.splitlines())
    pairs = {name: value.strip() for name, _, value in parted}
    if pairs.get("Success") != "1":
        raise BenchmarkOutputError("HPCC says that one of its tests failed")
    return pairs
