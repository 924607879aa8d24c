"""The suites: which program measures what, with which arguments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.errors import BenchmarkMachineError
from benchmarks.installed.fio import FOLDER, check_folder, fio_command, read_fio
from benchmarks.installed.hpcc import (
    SMALL_ORDER,
    hpcc_command,
    matrix_order,
    missing_in_hpcc,
    read_hpcc,
)
from benchmarks.installed.hpcg import PROGRAM, hpcg_command, read_hpcg
from benchmarks.launch import by_mpirun
from benchmarks.machine import (
    MAIN_MEMORY,
    STREAM_ELEMENTS,
    TIMES_CACHES,
    Machine,
    ThreadSet,
)
from benchmarks.programs import ANY_BLAS, ANY_FFTW, BLAS, FFTW, Program, Target
from benchmarks.results import Result, read_results

_DOUBLE = 8
_FLAGS = ("-O2", "-std=gnu11", "-pthread")
# These are to show what a compiler makes of plain loops.
_STREAM_FLAGS = ("-O3", "-march=native", "-std=gnu11", "-fopenmp")
_HPCG_SECONDS = 60
# Of matrices: in the first cache, to larger than all.
_ORDERS, _FEW_ORDERS = (32, 64, 128, 256, 512, 1024, 2048, 4096), (64, 256, 1024)
# As in Intel's MPI benchmarks: messages of up to 4 MiB, in powers of two.
_LARGEST_MESSAGE = 22
# Bytes of a complex number and of its transform.
_TRANSFORMED = 2 * 2 * _DOUBLE
# Bytes of a row of 27 elements, each with a column number.
_SPARSE_ROW, _FEWEST_ROWS = 27 * (_DOUBLE + 4), 100_000
_SMALLEST, _LATENCY_STEP = 4096, 2

Sets = Sequence[ThreadSet]


@dataclass(frozen=True)
class Effort:
    """How often and how long each kernel runs, and whether every variant does."""

    name: str
    repeats: int
    seconds: float
    every_variant: bool

    @property
    def fewer(self) -> int:
        """How often slow kernels run; fewer have no interval."""
        return self.repeats if self.every_variant else 6


QUICK = Effort("quick", 10, 0.02, every_variant=False)
FULL = Effort("full", 15, 0.03, every_variant=True)


def _thread_sets(machine: Machine, effort: Effort) -> Sets:
    return machine.thread_sets(quick=effort is QUICK)


def _rank_sets(machine: Machine, effort: Effort) -> Sets:
    return machine.rank_sets(quick=effort is QUICK)


def _job_sets(machine: Machine, effort: Effort) -> Sets:
    return machine.job_sets(quick=effort is QUICK)


@dataclass(frozen=True)
class Suite:
    """A benchmark: the arguments of its program for some CPUs of a machine.

    With ``flags``, the program of that name in `kernels/` is compiled by ``compiler``,
    and its path is placed before the arguments. Without, ``arguments`` is the command
    of a program that is installed: ``program`` says what is known about it. A host must
    have the programs that it ``needs``. ``seconds`` is about how long one run takes.
    ``read`` reads what it prints, and ``missing`` names the figures in it that were not
    measured. With ``ranks``, mpirun starts a process on each CPU. ``check`` raises an
    error if the host is not ready for a run.
    """

    name: str
    title: str
    about: str
    arguments: Callable[[Machine, Sequence[int], Effort], Sequence[str]]
    seconds: Callable[[Machine, Effort], float]
    flags: tuple[str, ...] = ()
    compiler: str = "cc"
    needs: tuple[str, ...] = ()
    program: Program = Program()
    ranks: bool = False
    suggested: Callable[[Machine, Effort], Sets] = _thread_sets
    read: Callable[[str], list[Result]] = read_results
    check: Callable[[Target, Effort], None] | None = None
    missing: Callable[[str], list[str]] = lambda _: []

    def command(
        self, path: str, machine: Machine, cpus: Sequence[int], effort: Effort
    ) -> list[str]:
        """Return the words of the command; ``path`` is that of a compiled program."""
        words = self.arguments(machine, cpus, effort)
        start = by_mpirun(len(cpus)) if self.ranks else []
        return [*start, *([path] if self.flags else []), *words]

    def sets(self, machine: Machine, threads: Sequence[int], effort: Effort) -> Sets:
        """Return some numbers of cores, or else what the topology suggests.

        Raises BenchmarkMachineError if there are too few for the suite.
        """
        given = [ThreadSet(count, "compact-cores") for count in threads]
        least = 2 if self.ranks else 1
        found = given or self.suggested(machine, effort)
        if not (enough := [each for each in found if each.count >= least]):
            raise BenchmarkMachineError(f"{self.title} needs {least} CPUs")
        return enough


def time_of(kernels: int, effort: Effort) -> float:
    """Return about how many seconds our own programs take for some kernels."""
    # Twice for finding the number of iterations, and once for warming up.
    return 1.0 + kernels * (effort.repeats + 3) * 1.2 * effort.seconds


def _carm(machine: Machine, cpus: Sequence[int], effort: Effort) -> list[str]:
    variants = "all" if effort.every_variant else "widest"
    words = (str(effort.repeats), str(effort.seconds), variants)
    return [*words, *machine.placed_levels(cpus)]


def _stream(machine: Machine, cpus: Sequence[int], effort: Effort) -> list[str]:
    elements = TIMES_CACHES * machine.last_level(cpus) // _DOUBLE
    return [str(effort.repeats), str(max(elements, STREAM_ELEMENTS))]


def _latency(machine: Machine, cpus: Sequence[int], effort: Effort) -> list[str]:
    largest = machine.levels(cpus)[MAIN_MEMORY]
    sizes, size = [], _SMALLEST
    while size < largest:
        sizes.append(size)
        size *= _LATENCY_STEP if effort.every_variant else 2 * _LATENCY_STEP
    every = (str(one) for one in (*sizes, largest))
    return [str(effort.repeats), str(effort.seconds), "huge", *every]


def _hpcc(machine: Machine, cpus: Sequence[int], effort: Effort) -> Sequence[str]:
    cores = machine.cores_of(cpus)
    order = matrix_order(cores) if effort.every_variant else SMALL_ORDER
    return hpcc_command(len(cpus), order)


def _message_sizes(effort: Effort) -> list[int]:
    step = 1 if effort.every_variant else 4
    return [0, *(2**power for power in range(0, _LARGEST_MESSAGE + 1, step))]


def _mpi(_: Machine, cpus: Sequence[int], effort: Effort) -> list[str]:
    sizes = map(str, _message_sizes(effort))
    return [str(effort.fewer), str(effort.seconds / 3), *sizes]


def _blas(_: Machine, cpus: Sequence[int], effort: Effort) -> list[str]:
    orders = _ORDERS if effort.every_variant else _FEW_ORDERS
    words = (",".join(map(str, orders)), ",".join(BLAS))
    return [str(effort.fewer), str(effort.seconds), *words]


def _fft(machine: Machine, cpus: Sequence[int], effort: Effort) -> list[str]:
    levels = [*machine.levels(cpus).values()]
    # From what fits the first cache of a CPU, to what exceeds all caches.
    first = (levels[0] // _TRANSFORMED).bit_length() - 1
    last = (levels[-1] * len(cpus) // _TRANSFORMED - 1).bit_length()
    powers = [*range(first, last, 1 if effort.every_variant else 4), last]
    words = (",".join(str(2**power) for power in powers), ",".join(FFTW))
    return [str(effort.fewer), str(effort.seconds), *words]


def _rows(machine: Machine, cpus: Sequence[int], effort: Effort) -> int:
    """Return the rows of a matrix of a 27-point stencil that exceeds the caches.

    Its vectors and coarser grids exceed them even if the matrix alone does not.
    """
    times = TIMES_CACHES if effort.every_variant else 1
    return max(times * machine.last_level(cpus) // _SPARSE_ROW, _FEWEST_ROWS)


def _time_of_rows(quick: float, full: float) -> Callable[[Machine, Effort], float]:
    """Return how long a suite takes with so many seconds for a million rows."""

    def time_of_suite(machine: Machine, effort: Effort) -> float:
        seconds = full if effort.every_variant else quick
        first = min(min(cache.cpus) for cache in machine.caches)
        return 10 + seconds * _rows(machine, [first], effort) / 1e6

    return time_of_suite


def _spmv(machine: Machine, cpus: Sequence[int], effort: Effort) -> list[str]:
    orders = "all" if effort.every_variant else "natural"
    rows = str(_rows(machine, cpus, effort))
    return [str(effort.fewer), str(effort.seconds), rows, orders]


def _cg(machine: Machine, cpus: Sequence[int], effort: Effort) -> list[str]:
    return [str(effort.fewer), str(_rows(machine, cpus, effort))]


_XHPCG = Program(PROGRAM)


def hpcg(program: Program = _XHPCG) -> Suite:
    """Return the suite that runs an ``xhpcg``."""
    return Suite(
        "hpcg",
        "HPCG",
        "conjugate gradients with a multigrid preconditioner, by an xhpcg of yours",
        lambda _, cpus, effort: hpcg_command(
            program.path, len(cpus), _HPCG_SECONDS if effort.every_variant else 1
        ),
        lambda _, effort: 2.5 * _HPCG_SECONDS,
        needs=(program.path, "mpirun"),
        program=program,
        read=read_hpcg,
    )


def _files(effort: Effort) -> tuple[int, float]:
    return (1024, 2.0) if effort.every_variant else (64, 0.2)  # MiB, seconds of a job


def fio(folder: str = FOLDER) -> Suite:
    """Return the suite that measures the file system of a folder."""
    return Suite(
        "fio",
        "Files",
        "sequential and random reads and writes of a file system, by fio",
        lambda _, cpus, effort: fio_command(folder, len(cpus), *_files(effort)),
        lambda _, effort: 40 * _files(effort)[1],
        needs=("fio",),
        read=read_fio,
        suggested=_job_sets,
        check=lambda target, effort: check_folder(folder, _files(effort)[0], target),
    )


SUITES: Mapping[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite(
            "carm",
            "Cache-aware roofline",
            "floating-point peaks, and bandwidths of all levels of memory",
            _carm,
            lambda _, effort: time_of(80 if effort.every_variant else 30, effort),
            _FLAGS,
        ),
        Suite(
            "stream",
            "STREAM",
            "bandwidth of main memory, with ordinary and with streaming stores",
            _stream,
            lambda _, effort: time_of(8, effort),
            _STREAM_FLAGS,
        ),
        Suite(
            "latency",
            "Load latency",
            "latency of loads that depend on each other, by size of the memory",
            _latency,
            lambda _, effort: time_of(15 if effort.every_variant else 8, effort),
            _FLAGS,
        ),
        Suite(
            "hpcc",
            "HPC Challenge",
            "HPL, DGEMM, FFT, RandomAccess and messages, by the installed hpcc",
            _hpcc,
            lambda _, effort: 120,
            needs=("hpcc", "mpirun"),
            read=read_hpcc,
            missing=missing_in_hpcc,
        ),
        hpcg(),
        Suite(
            "mpi",
            "MPI messages",
            "time of messages between ranks, by pattern, size and placement",
            _mpi,
            lambda _, effort: time_of(len(_message_sizes(effort)) * 6, effort) / 3,
            _FLAGS,
            "mpicc",
            needs=("mpirun",),
            ranks=True,
            suggested=_rank_sets,
        ),
        fio(),
        Suite(
            "blas",
            "Matrix multiplication",
            "DGEMM and ZGEMM by order, of each BLAS library that is installed",
            _blas,
            lambda _, effort: 60 if effort.every_variant else 10,
            _FLAGS,
            needs=(ANY_BLAS,),
        ),
        Suite(
            "spmv",
            "Sparse matrices",
            "sparse matrix-vector products by matrix, and by its format and order",
            _spmv,
            _time_of_rows(17, 45),
            _STREAM_FLAGS,
        ),
        Suite(
            "cg",
            "Conjugate gradients",
            "a 27-point stencil with a multigrid preconditioner, by its kernels",
            _cg,
            _time_of_rows(15, 15),
            _STREAM_FLAGS,
        ),
        Suite(
            "fft",
            "Fourier transforms",
            "complex transforms of one dimension by size, with the installed FFTW",
            _fft,
            lambda _, effort: 35 if effort.every_variant else 10,
            _FLAGS,
            needs=(ANY_FFTW,),
        ),
    )
}
