"""What likwid-bench reports about its own kernels when they run here."""

import platform
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from observations.errors import BenchmarkError
from observations.likwid import KERNELS, LikwidWork, command, install_hint, read_work

ITERATIONS = 100
# FLOPs, loads and stores for each element, by the formulas of the kernels.
EACH = {
    "triad": (2, 3, 1),
    "stream": (2, 2, 1),
    "sum": (1, 1, 0),
    "peakflops": (16, 1, 0),
    "ddot": (2, 2, 0),
    "daxpy": (2, 2, 1),
}
STREAMS = {"triad": 4, "stream": 3, "sum": 1, "peakflops": 1, "ddot": 2, "daxpy": 2}


def worked(kernel: str) -> LikwidWork:
    words = command(kernel, ITERATIONS)
    return read_work(subprocess.run(words, capture_output=True, text=True).stdout)


def test_missing_package_is_reported() -> None:
    assert install_hint("x86_64") == "`apt install likwid`"
    assert "x86-64, not for aarch64" in install_hint("aarch64")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="likwid is for x86_64 here")
def test_every_kernel_reports_its_work() -> None:
    assert KERNELS.keys() == EACH.keys()
    with ThreadPoolExecutor() as pool:
        found = dict(zip(EACH, pool.map(worked, EACH), strict=True))
    for kernel, (flops, loads, stores) in EACH.items():
        done = found[kernel].done
        elements = 100_000 / 8 / STREAMS[kernel]
        assert done["Loads"] / ITERATIONS / loads == pytest.approx(elements, rel=0.01)
        updates = done["Loads"] / loads
        assert done["FLOPs"] == done["FLOPsScalarDouble"] == flops * updates, kernel
        assert done["Stores"] == stores * updates, kernel
        assert done["Instructions"] > done["Loads"] + done["Stores"], kernel


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        ("", "names no thread, or several"),
        (
            "Group: 0 Thread 0 running on hwthread 3 - Vector length 9 Offset 0\n",
            "printed no 'Iterations'",
        ),
    ],
)
def test_other_output_is_refused(printed: str, why: str) -> None:
    with pytest.raises(BenchmarkError, match=why):
        read_work(printed)
