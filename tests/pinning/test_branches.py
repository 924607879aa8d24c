"""The tree on hosts of every form; spreading gives the same result as hwloc-distrib."""

from pathlib import Path

import pytest

from core.stores.endpoint import Endpoint
from pinning.branches import branches, leaves
from pinning.saved import SCATTER, BoundQuery
from pinning.tree import ThreadDomain, Tree
from tests.agreement import expectations, host_name
from tests.ingest.documents import synthetic
from tests.pinning.hwloc import distrib, readable
from tests.pinning.table import EVERYTHING, load, stored_tree

SHAPES = (
    "pack:2 numa:2 l3:2 l2:2 l1d:1 core:1 pu:2(indexes=2*16:1*2)",
    "pack:3 l3:1 core:5 pu:1",
    "pack:2 group:3 l2:2 core:1 pu:3",
    "numa:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)",
    "pack:1 die:2 numa:1 l3:3 core:2 pu:2(indexes=2*12:1*2)",
)
SHARED = expectations()


def scattered(twin: Endpoint, host: str, count: int, among: str = "") -> list[int]:
    """The CPUs by the saved query, in order."""
    params = {"host": host, "threads": count, "among": among or None}
    rows = twin.table(BoundQuery(SCATTER, params).text).records()
    return [row["cpu"] for row in rows]


def check(twin: Endpoint, xml: Path, host: str) -> None:
    """Compare every number of threads with the real tool."""
    threads = len(stored_tree(twin, host).allowed)
    for count in range(1, threads + 1):
        assert scattered(twin, host, count) == distrib(xml, count), count
    assert scattered(twin, host, threads + 1) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_scatter_matches_hwloc_distrib(
    twin: Endpoint, tmp_path: Path, shape: str
) -> None:
    xml = tmp_path / "m.xml"
    xml.write_bytes(synthetic(shape))
    load(twin, xml, "scattered")
    check(twin, xml, "scattered")


def test_scatter_matches_hwloc_distrib_with_offline_threads(
    twin: Endpoint, tmp_path: Path
) -> None:
    load(twin, EVERYTHING, "scattered")
    check(twin, readable(EVERYTHING, tmp_path), "scattered")


@pytest.mark.skipif(not SHARED, reason="no machines next to the checkout")
@pytest.mark.parametrize("path", SHARED, ids=lambda path: path.stem)
def test_scatter_matches_hwloc_distrib_on_machines_next_to_the_checkout(
    twin: Endpoint, path: Path
) -> None:
    load(twin, path, host := host_name(path))
    said = SHARED[path]
    for count in (2, 4, 8):
        if count <= said["pu"]:
            assert scattered(twin, host, count) == said[f"distrib{count}"], count


def test_scatter_uses_the_candidates_only(twin: Endpoint, tmp_path: Path) -> None:
    xml = tmp_path / "m.xml"
    xml.write_bytes(synthetic("pack:2 core:4 pu:1"))
    load(twin, xml, "scattered")
    assert scattered(twin, "scattered", 2, "1-2,6-7") == [1, 6]
    assert scattered(twin, "scattered", 3, "1-3,7") == [1, 2, 3]
    assert scattered(twin, "scattered", 4, "1,2,3,7") == [1, 2, 3, 7]
    assert scattered(twin, "scattered", 1, "5") == [5]


def test_overlapping_sets_are_omitted() -> None:
    held = [frozenset({0, 1}), frozenset({1, 2}), frozenset({2, 3})]
    root = branches(frozenset(range(4)), held)
    assert list(leaves(root)) == [0, 1, 2, 3]
    assert [sorted(child.cpus) for child in root.children] == [[0, 1], [2, 3]]


def test_memory_is_not_part_of_the_tree() -> None:
    every = frozenset(range(4))
    held = (frozenset({0, 2}), frozenset({1, 3}))
    things = [ThreadDomain("numa", f"numa-{n}", cpus, n) for n, cpus in enumerate(held)]
    assert list(Tree("h", every, every, tuple(things)).order) == [0, 1, 2, 3]
