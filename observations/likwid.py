"""Runs kernels of likwid-bench and reads what they executed.

The six kernels are those of section 5.3 of the thesis. They are the scalar variants, so
each element is one update. The number of iterations is fixed, so likwid-bench makes no
calibration runs that it does not report.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from observations.errors import BenchmarkError

PROGRAM = "likwid-bench"
SIZE = "100kB"
# The iterations of each kernel over its 100 kB: about three seconds on a current CPU.
KERNELS = {
    "triad": 2_000_000,
    "stream": 2_000_000,
    "sum": 1_500_000,
    "peakflops": 150_000,
    "ddot": 1_200_000,
    "daxpy": 1_200_000,
}
_LINE = re.compile(r"^([A-Z][\w /()]*):\s+([\d.]+)$", re.MULTILINE)
_THREAD = re.compile(r"running on hwthread (\d+) - Vector length (\d+)")


@dataclass(frozen=True)
class LikwidWork:
    """What a run executed, by role name, and the hardware thread that it ran on."""

    done: Mapping[str, float]
    cpu: int


def install_hint(architecture: str) -> str:
    """Say how to install it; ``architecture`` is the kernel's name of the processor."""
    if architecture == "x86_64":
        return "`apt install likwid`"
    return (
        f"Debian packages likwid for x86-64, not for {architecture}; build it yourself"
    )


def command(kernel: str, iterations: int) -> list[str]:
    """Return the command that runs a kernel on one thread."""
    return [PROGRAM, "-t", kernel, "-w", f"N:{SIZE}:1", "-i", str(iterations)]


def read_work(printed: str) -> LikwidWork:
    """Read from a kernel's output what it executed; raises BenchmarkError."""
    values = {name: float(value) for name, value in _LINE.findall(printed)}
    threads = _THREAD.findall(printed)
    if len(threads) != 1:
        raise BenchmarkError(
            f"{PROGRAM} names no thread, or several: install likwid again"
        )
    ((cpu, elements),) = threads
    try:
        updates = values["Iterations"] * int(elements)
        done = {
            "FLOPsScalarDouble": values["Number of Flops"],
            "FLOPs": values["Number of Flops"],
            "Instructions": values["Instructions"],
            "Loads": values["Loads per update"] * updates,
            "Stores": values["Stores per update"] * updates,
        }
    except KeyError as error:
        raise BenchmarkError(
            f"{PROGRAM} printed no {error.args[0]!r}: install likwid again"
        ) from None
    return LikwidWork(done, int(cpu))
