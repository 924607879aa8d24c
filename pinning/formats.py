"""Write a placement as other tools read it: a command line or a file.

Sets (taskset, numactl, hwloc-bind) lose the order of the CPUs; all others keep it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from pinning.cpu_list import in_order, write_cpus
from pinning.errors import LimitError, PolicyError
from pinning.tree import Tree

COMMAND = "COMMAND"


@dataclass(frozen=True)
class Format:
    """One format of CPUs; ``about`` names the tool that reads it."""

    about: str
    write: Callable[[Tree, Sequence[int]], str]


def write(tree: Tree, cpus: Sequence[int], name: str) -> str:
    """Write the CPUs in a format; raises PolicyError for an unknown one."""
    return find_format(name).write(tree, cpus)


def find_format(name: str) -> Format:
    """A format by its name; raises PolicyError, which lists the formats."""
    if name in FORMATS:
        return FORMATS[name]
    near = get_close_matches(name, FORMATS, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]}? " if near else ""
    raise PolicyError(f"no format {name[:40]!r}; {hint}there are: {', '.join(FORMATS)}")


def memory(tree: Tree, cpus: Sequence[int]) -> list[int]:
    """The NUMA domains with memory that are nearest to the CPUs.

    Raises LimitError if none is known.
    """
    found = {
        domain.number
        for domain in (tree.domain("numa", cpu) for cpu in cpus)
        if domain and domain.number is not None and domain.memory != 0
    }
    if not found:
        raise LimitError(f"no NUMA domain of {tree.host} with memory holds these CPUs")
    return sorted(found)


def _numactl(tree: Tree, cpus: Sequence[int]) -> str:
    nodes = write_cpus(memory(tree, cpus))
    return f"numactl --physcpubind={write_cpus(cpus)} --membind={nodes} {COMMAND}"


def _hwloc_bind(_tree: Tree, cpus: Sequence[int]) -> str:
    places = " ".join(f"pu:{cpu}" for cpu in cpus)
    return f"hwloc-bind --physical {places} -- {COMMAND}"


def _omp(_tree: Tree, cpus: Sequence[int]) -> str:
    places = ",".join(f"{{{cpu}}}" for cpu in cpus)
    return (
        f"OMP_NUM_THREADS={len(cpus)} OMP_PLACES='{places}' OMP_PROC_BIND=true "
        f"{COMMAND}"
    )


def _gomp(_tree: Tree, cpus: Sequence[int]) -> str:
    listed = " ".join(map(str, cpus))
    return f"OMP_NUM_THREADS={len(cpus)} GOMP_CPU_AFFINITY='{listed}' {COMMAND}"


def _kmp(_tree: Tree, cpus: Sequence[int]) -> str:
    setting = f"granularity=fine,explicit,proclist=[{in_order(cpus)}]"
    return f"OMP_NUM_THREADS={len(cpus)} KMP_AFFINITY='{setting}' {COMMAND}"


def whole_node(tree: Tree) -> str:
    """srun's option for all CPUs of a node, since it binds only to allocated CPUs.

    ``--exclusive`` does not work: within an allocation it means as few CPUs as
    possible. Outside of an allocation, Slurm 23.11 refuses the option and 24.11 ignores
    it.
    """
    return f"--mincpus={len(tree.allowed)}"


def _srun(tree: Tree, cpus: Sequence[int]) -> str:
    return (
        f"srun --nodes=1 {whole_node(tree)} --ntasks={len(cpus)} "
        f"--cpu-bind=map_cpu:{in_order(cpus)} {COMMAND}"
    )


def _rankfile(tree: Tree, cpus: Sequence[int]) -> str:
    return rankfile([(tree.host, [cpu]) for cpu in cpus])


def rankfile(ranks: Sequence[tuple[str, Sequence[int]]]) -> str:
    """Open MPI's rankfile, with the node and CPUs of each rank.

    Open MPI takes its numbers as the operating system's only if it is started with the
    option in the first line.
    """
    lines = [
        f"rank {rank}={node} slot={write_cpus(cpus)}"
        for rank, (node, cpus) in enumerate(ranks)
    ]
    how = "# mpirun --mca rmaps_rank_file_physical 1 --rankfile FILE"
    return "\n".join([f"{how} -np {len(ranks)} {COMMAND}", *lines])


FORMATS: dict[str, Format] = {
    "cpus": Format("the CPUs in order", lambda _tree, cpus: in_order(cpus)),
    "taskset": Format(
        "util-linux", lambda _tree, cpus: f"taskset -c {write_cpus(cpus)} {COMMAND}"
    ),
    "numactl": Format("numactl, memory as well", _numactl),
    "likwid-pin": Format(
        "likwid", lambda _tree, cpus: f"likwid-pin -c {in_order(cpus)} {COMMAND}"
    ),
    "hwloc-bind": Format("hwloc", _hwloc_bind),
    "omp": Format("OpenMP: OMP_PLACES and OMP_PROC_BIND", _omp),
    "gomp": Format("GNU's OpenMP: GOMP_CPU_AFFINITY", _gomp),
    "kmp": Format("LLVM's and Intel's OpenMP: KMP_AFFINITY", _kmp),
    "srun": Format("Slurm: a task on each CPU", _srun),
    "rankfile": Format("Open MPI: a rank on each CPU", _rankfile),
}
