"""Spreading gives the same result as hwloc-distrib, on trees of every form."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pinning.branches import branches, leaves, spread
from pinning.choose import choose
from pinning.policy import read_policy
from pinning.tree import ThreadDomain, Tree
from tests.pinning.hwloc import distrib

SHAPES = (
    "pack:2 numa:2 l3:2 l2:2 l1d:1 core:1 pu:2(indexes=2*16:1*2)",
    "pack:3 l3:1 core:5 pu:1",
    "pack:2 group:3 l2:2 core:1 pu:3",
    "numa:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)",
    "pack:1 die:2 numa:1 l3:3 core:2 pu:2(indexes=2*12:1*2)",
)


@pytest.mark.parametrize("shape", SHAPES)
def test_scatter_matches_hwloc_distrib(
    made_up: Callable[[str], tuple[Tree, Path]], shape: str
) -> None:
    tree, xml = made_up(shape)
    for count in range(1, len(tree.cpus) + 1):
        placed = choose(tree, read_policy("scatter"), count)
        assert list(placed.cpus) == distrib(xml, count), count


def test_scatter_uses_the_candidates_only() -> None:
    root = branches(frozenset(range(8)), [frozenset(range(4)), frozenset(range(4, 8))])
    assert spread(root, {1, 2, 6, 7}, 2) == [1, 6]
    assert spread(root, {1, 2, 3, 7}, 3) == [1, 2, 3]
    assert spread(root, {1, 2, 3, 7}, 4) == [1, 2, 3, 7]
    assert spread(root, {5}, 1) == [5]


def test_overlapping_sets_are_omitted() -> None:
    held = [frozenset({0, 1}), frozenset({1, 2}), frozenset({2, 3})]
    root = branches(frozenset(range(4)), held)
    assert list(leaves(root)) == [0, 1, 2, 3]
    assert [sorted(child.cpus) for child in root.children] == [[0, 1], [2, 3]]
    assert spread(root, {0, 1, 3}, 3) == [0, 1, 3]


def test_memory_is_not_part_of_the_tree() -> None:
    every = frozenset(range(4))
    held = (frozenset({0, 2}), frozenset({1, 3}))
    things = [ThreadDomain("numa", f"numa-{n}", cpus, n) for n, cpus in enumerate(held)]
    assert list(Tree("h", every, every, tuple(things)).order) == [0, 1, 2, 3]
