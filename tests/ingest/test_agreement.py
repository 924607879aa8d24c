"""The groups of CPUs in a machine's graph agree with hwloc's own tools."""

from pathlib import Path

import pytest

from core.stores.endpoint import Endpoint
from ingest.hwloc.read import parse_hwloc
from ingest.load.publish import TwinStores
from ingest.probe import hwloc_document
from ontology.iris import Iris
from tests.agreement import KINDS, MACHINES, compare, groups, host_name, judge, table
from tests.ingest.documents import IRIS, describe_json, synthetic
from tests.ingest.test_hwloc_tools import calculated

# Machines of all levels, one with two kinds of memory, one numbered out of order.
SYNTHETIC = (
    "pack:2 die:2 numa:1 l3:2 l2:2 l1:1 core:1 pu:2",
    "pack:2 [numa] [numa(memory=1GB)] l3:1 core:3 pu:1",
    "numa:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)",
)


def load(twin: Endpoint, xml: bytes, host: str) -> None:
    """Load only the twin, without validation: the shapes have tests of their own."""
    described = describe_json(hwloc_document(host, parse_hwloc(xml)), Iris(IRIS.base))
    twin.put_graph(str(IRIS.twin_graph(host)), described.twin.graph())


def test_real_machines_agree_with_hwloc(store: TwinStores) -> None:
    def ingest(path: Path, host: str) -> None:
        load(store.twin, path.read_bytes(), host)

    verdicts = judge(MACHINES, store.twin, ingest)
    if not verdicts:
        print(f"no topologies of real machines at {MACHINES}: nothing compared")
    print(table(verdicts))
    assert all(all(verdict.values()) for verdict in verdicts.values())


@pytest.mark.parametrize("text", SYNTHETIC)
def test_synthetic_machines_agree_with_hwloc(
    store: TwinStores, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "made up.xml"
    path.write_bytes(synthetic(text))
    load(store.twin, path.read_bytes(), host_name(path))
    found = groups(store.twin, host_name(path))
    for kind in ("Die", *KINDS):
        result = calculated(path, kind.removesuffix("Cache"))
        assert sorted(found.get(kind, [])) == result, kind


def test_difference_is_reported() -> None:
    listed = {"pu": 2, **{kind: [] for kind in KINDS}, "Core": [[0], [1]]}
    assert all(compare({"Core": [[1], [0]]}, listed).values())
    differing = compare({"Core": [[0, 1]]}, listed)
    assert [kind for kind, agrees in differing.items() if not agrees] == ["Core"]
    assert "DIFFER" in table({"m": differing})
