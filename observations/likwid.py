"""What likwid-bench does, in numbers: it knows what its kernels execute.

The six kernels are those of the thesis' section 5.3. They are scalar, so that each
element is one update, and run as often as is said, without runs before that are not
told of.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from observations.errors import BenchmarkError

PROGRAM = "likwid-bench"
SIZE = "100kB"
# How often each kernel goes over its 100 kB: three seconds of a processor of today.
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
class Work:
    """What a run executed, by the names of roles, and the thread that did it."""

    done: Mapping[str, float]
    cpu: int


def cure(architecture: str) -> str:
    """What to do where it is missing, given the kernel's name of the processor."""
    if architecture == "x86_64":
        return "`apt install likwid`"
    return (
        f"Debian packages likwid for x86-64, not for {architecture}; build it yourself"
    )


def command(kernel: str, iterations: int) -> list[str]:
    """The words that run a kernel on one thread."""
    return [PROGRAM, "-t", kernel, "-w", f"N:{SIZE}:1", "-i", str(iterations)]


def read_work(printed: str) -> Work:
    """What a kernel says that it did; raises BenchmarkError where it does not."""
    said = {name: float(value) for name, value in _LINE.findall(printed)}
    threads = _THREAD.findall(printed)
    if len(threads) != 1:
        raise BenchmarkError(f"{PROGRAM} says nothing of one thread that it ran on")
    ((cpu, elements),) = threads
    try:
        updates = said["Iterations"] * int(elements)
        done = {
            "FLOPsScalarDouble": said["Number of Flops"],
            "FLOPs": said["Number of Flops"],
            "Instructions": said["Instructions"],
            "Loads": said["Loads per update"] * updates,
            "Stores": said["Stores per update"] * updates,
        }
    except KeyError as error:
        raise BenchmarkError(f"{PROGRAM} printed no {error.args[0]!r}") from None
    return Work(done, int(cpu))
