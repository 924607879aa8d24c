"""Applications with a fixed amount of work, and how long each takes.

likwid-bench's kernels at 100 kB on all threads, as in the thesis' figures 5.5 and 5.6;
HPL from Debian's hpcc; EP, CG and a noise loop of our own, which check their results.
`tests/install.sh --bench` installs what a run needs; it may be missing.
"""

import os
import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from bench.sampling.profiles import LIKWID

_KERNELS = Path(__file__).parent / "kernels"
_COMPILE = ("gcc", "-O2", "-march=native", "-fopenmp")
_LONGEST = 300.0
# Half a second to a second each, so that thirty runs of every cell take six hours.
_ITERATIONS = 500_000  # passes of each thread
_FEWER = {"peakflops": 50_000}
_REPEATS = {"ep": ("5",), "cg": ("25",), "noise": ("8000", "150000")}
# A second on two cores; a system half that size varies by a sixth between runs.
_HPL_SIZE = 2500
# Each process has its own hardware thread: otherwise some runs take 1.5 times as long.
_BOUND = ("--use-hwthread-cpus", "--bind-to", "hwthread")


@dataclass(frozen=True)
class Took:
    """Seconds of the work itself; for the noise loop, pieces by microseconds."""

    seconds: float
    histogram: Mapping[int, int] = field(default_factory=dict)


class Application(ABC):
    """A computation, prepared in a folder of its own."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder

    @abstractmethod
    def lacks(self) -> str:
        """What it needs that is missing here; empty if it can run."""

    def prepare(self) -> None:
        """Prepare the application once."""
        self._folder.mkdir(parents=True, exist_ok=True)

    @abstractmethod
    def run(self) -> Took:
        """Do the work; raise if its result is wrong."""

    def _call(self, *command: str, **env: str) -> str:
        done = subprocess.run(
            command,
            cwd=self._folder,
            env=os.environ | env,
            capture_output=True,
            text=True,
            timeout=_LONGEST,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"[-2000:]
        return done.stdout


class Likwid(Application):
    """A kernel of likwid-bench: a fixed number of passes over 100 kB."""

    def lacks(self) -> str:
        return "" if shutil.which("likwid-bench") else "likwid-bench"

    def run(self) -> Took:
        passes = str(_FEWER.get(self.name, _ITERATIONS))
        output = self._call(
            "likwid-bench", *("-t", self.name, "-i", passes, "-w", "N:100kB")
        )
        return Took(_number(r"^Time:\s+(\S+) sec", output))


class Hpl(Application):
    """Linpack, one process a core; hpcc's other tests around it are not timed."""

    def lacks(self) -> str:
        return " and ".join(n for n in ("hpcc", "mpirun") if not shutil.which(n))

    def prepare(self) -> None:
        super().prepare()
        processes = os.cpu_count() or 1
        (self._folder / "hpccinf.txt").write_text(hpl_input(_HPL_SIZE, processes))

    def run(self) -> Took:
        out = self._folder / "hpccoutf.txt"
        out.unlink(missing_ok=True)
        self._call(
            *("mpirun", *_BOUND, "-np", str(os.cpu_count()), "hpcc"),
            OMP_NUM_THREADS="1",
            OMPI_ALLOW_RUN_AS_ROOT="1",
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        )
        output = out.read_text()
        residual = re.search(r"\|\|Ax-b\|\|.*PASSED$", output, re.MULTILINE)
        assert residual, output[-2000:]
        return Took(_number(r"^HPL_time=(\S+)", output))


class Compiled(Application):
    """A program of ours, compiled for this machine."""

    def lacks(self) -> str:
        return "" if shutil.which("gcc") else "gcc"

    def prepare(self) -> None:
        super().prepare()
        source = str(_KERNELS / f"{self.name}.c")
        self._call(*_COMPILE, source, "-o", self.name, "-lm")

    def run(self) -> Took:
        program = str(self._folder / self.name)
        found = orjson.loads(self._call(program, *_REPEATS[self.name]))
        assert found["verified"], f"{self.name} computed something wrong"
        pieces = found.get("histogram", {})
        return Took(found["seconds"], {int(k): int(n) for k, n in pieces.items()})


def applications(names: Sequence[str], folder: Path) -> list[Application]:
    """The applications of these names that can run here, prepared."""
    found = [application(name, folder / name) for name in names]
    there = [one for one in found if not one.lacks()]
    assert there, f"none of {', '.join(names)} runs here: see tests/install.sh --bench"
    for one in there:
        one.prepare()
    return there


def lacking(names: Sequence[str]) -> dict[str, str]:
    """The missing requirements of the applications that cannot run here."""
    found = {name: application(name, Path()).lacks() for name in names}
    return {name: what for name, what in found.items() if what}


def application(name: str, folder: Path) -> Application:
    """The application with this name."""
    if name == "hpl":
        return Hpl(name, folder)
    return (Likwid if name in LIKWID else Compiled)(name, folder)


def hpl_input(size: int, processes: int) -> str:
    """hpcc's input: one system of this size, on a grid as square as possible."""
    rows = max(
        n for n in range(1, processes + 1) if not processes % n and n * n <= processes
    )
    lines = ["", "", "HPL.out", "8", "1", str(size), "1", "128", "0", "1"]
    lines += [str(rows), str(processes // rows), "16.0"]
    # One variant of each: factorisation, recursion, broadcast, depth, and so on.
    lines += ["1", "2", "1", "4", "1", "2", "1", "1", "1", "1", "1", "0", "2", "64"]
    lines += ["0", "0", "1", "8", "", "0", "1", "0", "1"]
    return "\n".join(lines) + "\n"


def _number(pattern: str, message: str) -> float:
    found = re.search(pattern, message, re.MULTILINE)
    assert found, message[-2000:]
    return float(found[1])
