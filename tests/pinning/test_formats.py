"""Every format works with its real tool; formats without one here are only parsed."""

import ast
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pinning.errors import LimitError, PolicyError
from pinning.formats import FORMATS, rankfile, write
from pinning.tree import ThreadDomain, Tree
from tests.pinning.table import SHAPES
from tests.pinning.tools import (
    GNU,
    LLVM,
    alone,
    here,
    mpirun,
    needs_likwid_pin,
    run,
    team,
)


@pytest.fixture(scope="module")
def local() -> Tree:
    """The parts of this machine that formats use."""
    cpus = frozenset(here())
    node = ThreadDomain("numa", "numa/0", cpus, 0, 1)
    return Tree("local", cpus, cpus, (node,))


@pytest.mark.parametrize("name", ["taskset", "numactl", "hwloc-bind"])
def test_tools_that_take_sets_bind_to_all_cpus(local: Tree, name: str) -> None:
    for cpus in (here(), here()[:1]):
        assert ast.literal_eval(run(local, cpus, name, alone())) == [sorted(cpus)]


def test_numactl_binds_the_nearest_memory(local: Tree) -> None:
    output = run(local, here(), "numactl", ["numactl", "--show"])
    assert "policy: bind" in output
    assert "membind: 0" in output


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("omp", GNU),
        ("omp", LLVM),
        ("gomp", GNU),
        ("kmp", LLVM),
        pytest.param("likwid-pin", GNU, marks=needs_likwid_pin),
    ],
)
def test_each_thread_gets_its_cpu_in_order(
    local: Tree, name: str, library: str
) -> None:
    output = run(local, here(), name, team(library)).strip().splitlines()[-1]
    # likwid-pin prints colours before it.
    assert output.endswith(str([[cpu] for cpu in here()]))


@pytest.fixture(scope="module")
def ranks_here() -> str:
    """A rankfile for this machine, with a rank on each CPU."""
    output = subprocess.run(["hostname"], capture_output=True, text=True, check=True)
    return rankfile([(output.stdout.strip(), [cpu]) for cpu in here()])


def test_rankfile_names_its_mpirun_options(ranks_here: str) -> None:
    how, *lines = ranks_here.splitlines()
    name = lines[0].removeprefix("rank 0=").partition(" ")[0]
    assert lines == [f"rank {n}={name} slot={cpu}" for n, cpu in enumerate(here())]
    assert how.startswith("# mpirun --mca rmaps_rank_file_physical 1 ")
    assert how.endswith(f" -np {len(here())} COMMAND")


def test_open_mpi_binds_each_rank_to_its_cpu(ranks_here: str, tmp_path: Path) -> None:
    (tmp_path / "ranks").write_text(ranks_here + "\n")
    how = ranks_here.splitlines()[0]
    options = how.removeprefix("# mpirun ").removesuffix(" COMMAND").split()
    options[options.index("FILE")] = "ranks"
    output = mpirun(tmp_path, "--tag-output", *options, *alone())
    for rank, cpu in enumerate(here()):
        # Open MPI 5 writes a space before the text.
        assert re.search(rf"\[1,{rank}\]<stdout>: ?\[\[{cpu}\]\]", output), output


def test_formats_match_their_manuals(tree: Tree) -> None:
    wanted = {
        "cpus": "8,0",
        "taskset": "taskset -c 0,8 COMMAND",
        "numactl": "numactl --physcpubind=0,8 --membind=0,2 COMMAND",
        "likwid-pin": "likwid-pin -c 8,0 COMMAND",
        "hwloc-bind": "hwloc-bind --physical pu:8 pu:0 -- COMMAND",
        "omp": "OMP_NUM_THREADS=2 OMP_PLACES='{8},{0}' OMP_PROC_BIND=true COMMAND",
        "gomp": "OMP_NUM_THREADS=2 GOMP_CPU_AFFINITY='8 0' COMMAND",
        "kmp": "OMP_NUM_THREADS=2 "
        "KMP_AFFINITY='granularity=fine,explicit,proclist=[8,0]' COMMAND",
        "srun": "srun --nodes=1 --mincpus=32 --ntasks=2 --cpu-bind=map_cpu:8,0 COMMAND",
        "rankfile": "# mpirun --mca rmaps_rank_file_physical 1 --rankfile FILE -np 2 "
        f"COMMAND\nrank 0={tree.host} slot=8\nrank 1={tree.host} slot=0",
    }
    assert {name: write(tree, [8, 0], name) for name in FORMATS} == wanted


def test_memory_is_bound_to_domains_with_memory() -> None:
    cpus = frozenset({0, 1})
    empty = ThreadDomain("numa", "numa/0", cpus, 0, 0)
    full = ThreadDomain("numa", "numa/1", cpus, 1, 4096)
    some = Tree("h", cpus, cpus, (empty, full))
    assert "--membind=1 " in write(some, [0], "numactl")
    with pytest.raises(LimitError, match="no NUMA domain of h with memory"):
        write(Tree("h", cpus, cpus, (empty,)), [0], "numactl")


@pytest.mark.parametrize(
    ("shape", "cpus", "nodes"),
    [
        # The socket's memory has a lower number than that of its caches.
        (SHAPES["wide-memory-first"], [0], "2"),
        (SHAPES["wide-memory-first"], [2, 8, 4], "2-4"),
        # Two kinds of memory for the same threads: ordinary memory is numbered first.
        ("pack:2 [numa][numa] core:2 pu:1", [1, 2], "0,2"),
    ],
)
def test_nearest_memory_is_bound(
    made_up: Callable[[str], tuple[Tree, Path]], shape: str, cpus: list[int], nodes: str
) -> None:
    assert f" --membind={nodes} " in write(made_up(shape)[0], cpus, "numactl")


def test_srun_requests_the_allowed_cpus(tree: Tree) -> None:
    some = replace(tree, allowed=tree.allowed - {0, 16})
    assert " --mincpus=30 " in write(some, [1], "srun")


def test_unknown_format_lists_the_known(tree: Tree) -> None:
    with pytest.raises(PolicyError, match="did you mean taskset.*there are: cpus, "):
        write(tree, [0], "tasket")
