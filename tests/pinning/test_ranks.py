"""Ranks on machines of many shapes, compared with `lstopo`'s view of them."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from core.stores.endpoint import Endpoint
from pinning.errors import LimitError
from pinning.hybrid import BINDS, MAPS, RANKS, HybridRequest, lay_out
from pinning.tree import Tree
from tests.agreement import host_name
from tests.pinning.hwloc import Machine, read_machine, readable
from tests.pinning.table import EVERYTHING, SHAPES, load, stored_tree


def check(tree: Tree, machine: Machine, wanted: HybridRequest) -> None:
    """Check every rank; the layout leaves the last place of the second node free."""
    ranks = [
        (one.node, list(one.threads), list(one.cpus))
        for one in lay_out(tree, wanted).ranks
    ]
    slots = places(machine, wanted)
    taken = [(node, slot) for node in range(2) for slot in range(len(slots))]
    del taken[wanted.ranks :]
    if wanted.rank == "node":
        taken.sort(key=lambda one: one[1])
    assert ranks == [
        (node, slots[slot], bound(machine, wanted.bind, slots[slot]))
        for node, slot in taken
    ], wanted


def places(machine: Machine, wanted: HybridRequest) -> list[list[int]]:
    """First threads of cores, as many as a rank has, from the domains in turn."""
    one = wanted.map in ("slot", "node", "core")
    blocks = []
    for domain in [machine.cpus] if one else machine.sets[wanted.map]:
        cores = [core & domain for core in machine.sets["core"] if core & domain]
        first = [machine.ordered(core)[0] for core in cores]
        whole = range(wanted.threads, len(first) + 1, wanted.threads)
        blocks.append([first[end - wanted.threads : end] for end in whole])
    most = max(map(len, blocks), default=0)
    return [some[turn] for turn in range(most) for some in blocks if turn < len(some)]


def bound(machine: Machine, bind: str, threads: list[int]) -> list[int]:
    if bind == "none":
        return sorted(machine.cpus)
    if bind == "hwthread":
        return threads
    held = (machine.of(bind, cpu) or frozenset() for cpu in threads)
    return sorted(frozenset().union(*held))


def check_all(tree: Tree, machine: Machine) -> None:
    """Try all ways to map, number and bind, on two nodes with one free place."""
    for by, rank, bind, threads in product(MAPS, RANKS, BINDS, (1, 2, 3)):
        wanted = HybridRequest(2, threads, 2, by, rank, bind)
        slots = places(machine, wanted)
        room, wanted = len(slots), replace(wanted, ranks=max(2, 2 * len(slots) - 1))
        if limit := refused(machine, wanted, slots):
            with pytest.raises(LimitError, match=limit):
                lay_out(tree, wanted)
            continue
        check(tree, machine, wanted)
        limit = f"{room} ranks?.* fit .*, {room + 1} asked"
        with pytest.raises(LimitError, match=limit):
            lay_out(tree, replace(wanted, ranks=2 * room + 1))


def refused(machine: Machine, wanted: HybridRequest, slots: list[list[int]]) -> str:
    """What a machine lacks; a core may lack a cache that its neighbours have."""
    if not machine.sets.get(wanted.map, True):
        return "has no "
    if not slots:
        return "^0 ranks of "
    used = (cpu for threads in slots for cpu in threads)
    if wanted.bind not in machine.sets:
        return ""
    lacking = [cpu for cpu in used if not machine.of(wanted.bind, cpu)]
    return f"has no .* around CPU {lacking[0]} to bind to" if lacking else ""


@pytest.mark.parametrize("name", SHAPES)
def test_ranks_match_open_mpi_on_synthetic_machines(
    made_up: Callable[[str], tuple[Tree, Path]], name: str
) -> None:
    tree, xml = made_up(SHAPES[name])
    check_all(tree, read_machine(xml))


def test_ranks_match_open_mpi_with_offline_threads(
    twin: Endpoint, tmp_path: Path
) -> None:
    load(twin, EVERYTHING, host := host_name(EVERYTHING))
    check_all(stored_tree(twin, host), read_machine(readable(EVERYTHING, tmp_path)))


@pytest.mark.parametrize(
    ("asked", "ways"),
    [
        (HybridRequest(2), ("core", "slot", "core")),
        (HybridRequest(3), ("numa", "slot", "numa")),
        (HybridRequest(2, 2), ("socket", "slot", "core")),
        (HybridRequest(9, 4), ("socket", "slot", "core")),
        (HybridRequest(3, map="node"), ("node", "node", "numa")),
        (HybridRequest(3, map="node", rank="slot"), ("node", "slot", "numa")),
        (HybridRequest(2, map="socket"), ("socket", "slot", "core")),
    ],
)
def test_omitted_options_default_to_open_mpi(
    asked: HybridRequest, ways: tuple[str, str, str]
) -> None:
    settled = asked.settled()
    assert (settled.map, settled.rank, settled.bind) == ways
