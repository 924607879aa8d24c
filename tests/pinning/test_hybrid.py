"""Ranks with threads: table 4.3 of the study, Open MPI's own map, and refusals."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pinning.errors import LimitError, PolicyError
from pinning.hybrid import HybridRequest, RankLayout, lay_out, write_ranks
from pinning.tree import Tree
from tests.pinning.conftest import BIG, EPYC
from tests.pinning.tools import mpirun

# Nodes, ranks and threads of each row; each is placed in both ways.
ROWS = [
    (nodes, nodes * ranks, threads)
    for nodes in (1, 2, 4, 8)
    for ranks, threads in ((64, 1), (32, 2), (16, 4))
]
ROUND_ROBIN = {"map": "node", "bind": "core"}


def by_node(layout: RankLayout) -> dict[int, list[int]]:
    """The numbers of the ranks on each node."""
    found: dict[int, list[int]] = {}
    for one in layout.ranks:
        found.setdefault(one.node, []).append(one.rank)
    return found


@pytest.mark.parametrize(("nodes", "ranks", "threads"), ROWS)
def test_default_matches_table_4_3(
    epyc: Tree, nodes: int, ranks: int, threads: int
) -> None:
    layout = lay_out(epyc, HybridRequest(ranks, threads, nodes))
    each = ranks // nodes
    assert by_node(layout) == {
        node: list(range(node * each, (node + 1) * each)) for node in range(nodes)
    }
    check(epyc, layout, threads)
    # Ranks go to the NUMA domains (with threads: to the sockets) in turn.
    kind = "numa" if threads == 1 else "socket"
    dealt = [epyc.domain(kind, one.threads[0]) for one in layout.ranks[:each]]
    domains = list(epyc.domains(kind))
    assert dealt == [domains[n % len(domains)] for n in range(each)]
    assert layout.wanted.bind == ("numa" if threads == 1 else "core")


@pytest.mark.parametrize(("nodes", "ranks", "threads"), ROWS)
def test_round_robin_matches_table_4_3(
    epyc: Tree, nodes: int, ranks: int, threads: int
) -> None:
    layout = lay_out(epyc, HybridRequest(ranks, threads, nodes, **ROUND_ROBIN))
    assert [one.node for one in layout.ranks] == [n % nodes for n in range(ranks)]
    check(epyc, layout, threads)
    first = [cpu for one in layout.ranks if one.node == 0 for cpu in one.threads]
    assert first == list(range(64))


def check(tree: Tree, layout: RankLayout, threads: int) -> None:
    """Assert that each rank has its own cores and is bound to sets with them."""
    for node in by_node(layout):
        ranks = [one for one in layout.ranks if one.node == node]
        cpus = [cpu for one in ranks for cpu in one.threads]
        cores = {tree.domain("core", cpu) for cpu in cpus}
        assert len(cores) == len(cpus) == 64
    for one in layout.ranks:
        assert len(one.threads) == threads
        assert set(one.threads) <= set(one.cpus) <= tree.allowed
        if layout.wanted.bind == "core":
            assert len(one.cpus) == 2 * threads


def binding(message: str) -> list[list[int]]:
    """The cores to which Open MPI would bind each rank, by logical number.

    Where mapping and binding use the same kind, Open MPI 4.1 shows no binding here.
    """
    found = {}
    pattern = r"Data for proc: \[\[\d+,1\],(\d+)\].*?Binding: *(\S+)"
    for rank, bound in re.findall(pattern, message, re.DOTALL):
        cells = re.findall("[B.]+", bound)
        found[int(rank)] = [core for core, cell in enumerate(cells) if "B" in cell]
    return [found[rank] for rank in sorted(found)]


def simulated(folder: Path, xml: Path, options: str, ranks: int) -> list[list[int]]:
    """The cores of each rank on a machine that Open MPI simulates."""
    for padding in range(0, 40 * 24, 24):
        output = mpirun(
            folder,
            *("--mca", "ras", "simulator", "--mca", "ras_simulator_num_nodes", "1"),
            *("--mca", "ras_simulator_topo_files", str(xml)),
            *("--do-not-launch", "--display-devel-map", *options.split()),
            *("-np", str(ranks), "hostname"),
            padding=padding,
        )
        # The simulator reads uninitialised memory and may crash, again and again if
        # nothing else changes.
        if found := binding(output):
            return found
    raise AssertionError((options, output))


@pytest.mark.parametrize("shape", [BIG, EPYC, "pack:2 numa:1 l3:3 core:5 pu:1"])
def test_map_follows_open_mpi(
    made_up: Callable[[str], tuple[Tree, Path]], tmp_path: Path, shape: str
) -> None:
    if " 4." not in (version := mpirun(tmp_path, "--version")):
        pytest.skip(f"placed as Open MPI 4.1 does, not as {version.splitlines()[0]}")
    tree, xml = made_up(shape)
    cores = [domain.cpus for domain in tree.domains("core")]
    for options, wanted in (
        ("--bind-to l3cache", HybridRequest(2, bind="l3")),
        ("--bind-to core", HybridRequest(7, bind="core")),
        ("--map-by :PE=2", HybridRequest(3, 2)),
        ("--map-by core --bind-to l3cache", HybridRequest(6, map="core", bind="l3")),
        ("--map-by slot:PE=3", HybridRequest(3, 3, map="slot")),
        ("--map-by socket --bind-to core", HybridRequest(5, map="socket", bind="core")),
        ("--map-by l3cache --bind-to core", HybridRequest(5, map="l3", bind="core")),
        ("--map-by l3cache:PE=2", HybridRequest(5, 2, map="l3")),
        ("--map-by numa:PE=2", HybridRequest(4, 2, map="numa")),
        ("--map-by node --bind-to core", HybridRequest(5, map="node", bind="core")),
    ):
        theirs = simulated(tmp_path, xml, options, wanted.ranks)
        layout = lay_out(tree, wanted)
        ours = [
            [n for n, core in enumerate(cores) if not core.isdisjoint(one.cpus)]
            for one in layout.ranks
        ]
        assert theirs == ours, options


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            HybridRequest(17),
            r"16 ranks fit on a node like \S+ \(16 cores.*\), 17 asked",
        ),
        (HybridRequest(5, 5, map="socket"), "2 ranks of 5 cores each fit"),
        (HybridRequest(2, 3, map="numa"), None),
        (HybridRequest(5, 3, map="numa"), "4 ranks of 3 cores each fit .*, 5 asked"),
        (HybridRequest(1, 1, 2), "1 rank cannot fill 2 nodes"),
    ],
)
def test_layout_that_does_not_fit_is_refused(
    tree: Tree, wanted: HybridRequest, message: str | None
) -> None:
    if message is None:
        assert len(lay_out(tree, wanted).ranks) == 2
        return
    with pytest.raises(LimitError, match=message):
        lay_out(tree, wanted)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (HybridRequest(0), "0 ranks"),
        (HybridRequest(10**9), "1000000000 ranks"),
        (HybridRequest(1, -1), "-1 threads"),
        (HybridRequest(1, 1, 0), "0 nodes"),
        (HybridRequest(1, map="rack"), "map: 'rack': expected one of slot, node"),
        (HybridRequest(1, bind="die"), "bind: 'die': expected one of"),
        (HybridRequest(1, rank="x"), "rank: 'x': expected one of slot, node"),
    ],
)
def test_invalid_layout_is_named(
    tree: Tree, wanted: HybridRequest, message: str
) -> None:
    with pytest.raises(PolicyError, match=message):
        lay_out(tree, wanted)


def test_ranks_are_written_in_every_suitable_format(tree: Tree) -> None:
    layout = lay_out(tree, HybridRequest(3, 2, 2, map="l3", bind="hwthread"))
    assert layout.cpus == [0, 1, 2, 3]
    assert write_ranks(tree, layout, "cpus").splitlines() == [
        "rank 0 node 0 threads 0,1 bound 0-1",
        "rank 1 node 0 threads 2,3 bound 2-3",
        "rank 2 node 1 threads 0,1 bound 0-1",
    ]
    assert write_ranks(tree, layout, "rankfile").splitlines()[1:] == [
        "rank 0=+n0 slot=0-1",
        "rank 1=+n0 slot=2-3",
        "rank 2=+n1 slot=0-1",
    ]
    assert write_ranks(tree, layout, "srun") == (
        "srun --nodes=2 --mincpus=32 --ntasks=3 --ntasks-per-node=2 "
        "--distribution=block --cpu-bind=mask_cpu:0x3,0xc COMMAND"
    )
    whole = lay_out(
        tree, HybridRequest(3, 1, 2, map="socket", bind="core", rank="node")
    )
    assert write_ranks(tree, whole, "rankfile").splitlines()[1:] == [
        "rank 0=+n0 slot=0,16",
        "rank 1=+n1 slot=0,16",
        "rank 2=+n0 slot=8,24",
    ]
    assert write_ranks(tree, whole, "srun") == (
        "srun --nodes=2 --mincpus=32 --ntasks=3 --ntasks-per-node=2 "
        "--distribution=cyclic --cpu-bind=mask_cpu:0x10001,0x1000100 COMMAND"
    )
    with pytest.raises(PolicyError, match="omp cannot hold ranks: take cpus, rankfile"):
        write_ranks(tree, layout, "omp")
    assert "2 nodes like" in layout.reason
    assert "1 to 2 on each" in layout.reason


def test_binding_that_restricts_nothing_is_warned_of(
    made_up: Callable[[str], tuple[Tree, Path]],
) -> None:
    """One NUMA domain, to which ranks are bound by default."""
    tree, _ = made_up("pack:1 numa:1 l3:2 core:4 pu:2")
    layout = lay_out(tree, HybridRequest(4))
    assert len(layout.ranks[0].cpus) == 16
    message = "Warning: binding to the NUMA domain restricts nothing, since it contains"
    assert f"{message} all 16 CPUs" in layout.reason
    for wanted in (
        HybridRequest(4, bind="core"),
        HybridRequest(4, bind="l3"),
        HybridRequest(4, bind="none"),
        HybridRequest(1, threads=8, bind="numa"),
    ):
        assert "Warning" not in lay_out(tree, wanted).reason
