"""HPC Challenge (Luszczek et al., 2006): its input, and its summary."""

import math
import re
from collections.abc import Mapping, Sequence

from benchmarks.errors import BenchmarkOutputError
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
_SUMMARY = re.compile(
    r"^Begin of Summary section\.$(.*)^End of Summary section\.$", re.M | re.S
)
_PAIR = re.compile(r"^(\w+)=(\S+)$", re.M)


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
    summary = _SUMMARY.search(printed)
    if summary is None:
        raise BenchmarkOutputError("it has no complete summary of HPCC")
    pairs = dict(_PAIR.findall(summary[1]))
    if pairs.get("Success") != "1":
        raise BenchmarkOutputError("HPCC says that one of its tests failed")
    tool = "HPCC {}.{}.{}".format(
        *(pairs.get(f"Version{part}", "?") for part in ("Major", "Minor", "Micro"))
    )
    processes = int(_number(pairs, "CommWorldProcs"))
    return [
        Result(kernel, unit, processes, value, value, 1, kind=kind, tool=tool, order=of)
        for name, (kernel, kind, unit, factor, size) in _FIGURES.items()
        if (value := factor * _number(pairs, name)) > 0
        for of in [int(_number(pairs, size)) if size else None]
    ]


def _number(pairs: Mapping[str, str], name: str) -> float:
    try:
        value = float(pairs[name])
    except (KeyError, ValueError):
        found = pairs.get(name, "nothing")[:40]
        raise BenchmarkOutputError(f"{name} is {found}, not a number") from None
    if not math.isfinite(value):
        raise BenchmarkOutputError(f"{name} is {value}")
    return value
