"""CPUs by a device or a type of core, from the rows of the saved queries."""

from typing import Any

import pytest

from core.stores.results import TermRows
from pinning.choose import choose
from pinning.devices import core_cpus, near_cpus, with_devices
from pinning.errors import PlaceError
from pinning.placement import PolicyFacts
from pinning.policy import read_policy
from pinning.tree import Tree, read_tree
from queries.catalogue import saved_query
from tests.queries.cases import FOLDER, load_data

# rdflib's own code still calls deprecated functions.
pytestmark = pytest.mark.filterwarnings(
    "ignore:(Dataset.default_context|Dataset.contexts|ConjunctiveGraph) is deprecated"
)


def rows(name: str) -> list[dict[str, Any]]:
    """A saved query's rows for the host with devices and two types of cores."""
    result = load_data(FOLDER / "hosts/io.trig").query(
        saved_query(name).bind({"host": "n1"})
    )
    table = TermRows([str(name) for name in result.vars], [list(row) for row in result])
    return [dict(zip(table.columns, row, strict=True)) for row in table.values()]


@pytest.fixture(scope="module")
def devices() -> list[dict[str, Any]]:
    return rows("topology/near-devices")


@pytest.fixture(scope="module")
def hybrid() -> Tree:
    """Cores of two threads and of one, shared memory, and two disallowed threads."""
    return read_tree("n1", rows("pinning/threads"), rows("pinning/components"))


@pytest.mark.parametrize(
    ("device", "name", "expected"),
    [
        ("gpu", "0000:01:00.0", {0, 1, 2, 3}),
        ("nic", "ib0", {4, 5}),
        ("nic", "mlx5_0", {4, 5}),
        ("nic", "0001:80:00.0", {4, 5}),
        ("disk", "sda", {0, 1, 2, 3}),
    ],
)
def test_threads_near_a_device_are_found(
    devices: list[dict[str, Any]], device: str, name: str, expected: set[int]
) -> None:
    assert near_cpus("n1", devices, device, name) == expected


@pytest.mark.parametrize(
    ("device", "name", "message"),
    [
        ("gpu", "gpu9", "n1 has no such gpu .*; those that are: 0000:01:00.0"),
        ("disk", "sdz", "no such disk .*; those that are: mem0, sda"),
        ("disk", "ib0", "no such disk by that name: it is used as nic"),
        ("disk", "mlx5_0", "no such disk by that name: it is used as nic"),
        ("gpu", "mlx5_0", "it is used as nic"),
        ("nic", "dax0.0", "it is used as memory"),
        ("gpu", "0001:80:00.0", "it is used as nic"),
    ],
)
def test_missing_device_is_refused(
    devices: list[dict[str, Any]], device: str, name: str, message: str
) -> None:
    with pytest.raises(PlaceError, match=message):
        near_cpus("n1", devices, device, name)
    with pytest.raises(PlaceError, match="none is"):
        near_cpus("n1", [], device, name)


TWO_GPUS = [
    {"name": address, "kind": "gpu", "address": address, "numa": numa, "cpus": cpus}
    for address, numa, cpus in (("0000:81:00.0", 1, "2,3"), ("0000:1b:00.0", 0, "0,1"))
]
# The driver's name for the second GPU.
CUDA = {**TWO_GPUS[0], "name": "cuda0"}


@pytest.mark.parametrize(
    ("word", "rows", "expected"),
    [
        ("near:gpu=0", TWO_GPUS, ("gpu", "0000:1b:00.0")),
        ("near:gpu=1", TWO_GPUS, ("gpu", "0000:81:00.0")),
        ("near:gpu=cuda1", TWO_GPUS, ("gpu", "0000:81:00.0")),
        ("near:cuda0", TWO_GPUS, ("gpu", "0000:1b:00.0")),
        ("near:gpu=cuda0", [*TWO_GPUS, CUDA], ("gpu", "cuda0")),
        ("near:cuda0", [*TWO_GPUS, CUDA], ("gpu", "cuda0")),
        ("near:0000:81:00.0", TWO_GPUS, ("gpu", "0000:81:00.0")),
        ("near:gpu=2", TWO_GPUS, ("gpu", "2")),
        ("near:nic=0", TWO_GPUS, ("nic", "0")),
    ],
)
def test_gpu_may_be_named_by_number(
    word: str, rows: list[dict[str, Any]], expected: tuple[str, str]
) -> None:
    assert with_devices(read_policy(word), rows).near == (expected,)


def test_unknown_gpu_number_names_the_gpus() -> None:
    message = "near:gpu=2: h has no such gpu .*; those that are: 0000:1b:00.0, 0000:81"
    with pytest.raises(PlaceError, match=message):
        near_cpus("h", TWO_GPUS, "gpu", "2")
    with pytest.raises(PlaceError, match="near:eth9: h has no such device"):
        near_cpus("h", TWO_GPUS, "", "eth9")


def test_kinds_of_cores_are_chosen(hybrid: Tree) -> None:
    cores = core_cpus("n1", rows("topology/cpu-kinds"))
    assert cores == {"p": {0, 1, 2, 3}, "e": {4, 5}}
    known = PolicyFacts(cores={"p": cores["p"], "e": cores["e"]})
    assert choose(hybrid, read_policy("cores:e"), 2, known).cpus == (4, 5)
    placed = choose(hybrid, read_policy("cores:p+compact-cores"), 2, known)
    assert placed.cpus == (0, 2)
    assert "Only performance cores." in placed.reason


def test_fastest_kind_is_performance_without_core_types() -> None:
    kinds = [
        {"rank": rank, "type": None, "cpus": cpus}
        for rank, cpus in ((0, "0,1"), (1, "2,3"), (2, "4"))
    ]
    assert core_cpus("h", kinds) == {"p": {4}, "e": {0, 1, 2, 3}}
    for alike in ([], kinds[:1]):
        with pytest.raises(PlaceError, match="all cores of h are of one kind"):
            core_cpus("h", alike)


def test_core_types_have_precedence_over_ranks() -> None:
    rows = [
        {"rank": None, "type": kind, "cpus": cpus}
        for kind, cpus in (("IntelAtom", "4,5"), ("IntelCore", "0,1"))
    ]
    assert core_cpus("h", rows) == {"p": {0, 1}, "e": {4, 5}}


def test_device_of_several_domains_is_near_to_all_of_them() -> None:
    rows = [
        {"name": "sda", "kind": "disk", "address": None, "numa": numa, "cpus": cpus}
        for numa, cpus in ((0, "0,1"), (1, "2,3"))
    ]
    assert near_cpus("h", rows, "disk", "sda") == {0, 1, 2, 3}


def test_device_near_to_disallowed_cpus_is_refused() -> None:
    row = {"name": "sda", "kind": "disk", "address": None, "numa": 1, "cpus": ""}
    with pytest.raises(PlaceError, match="than to others; none is"):
        near_cpus("h", [row], "disk", "sda")


def test_smallest_memory_domain_decides(hybrid: Tree) -> None:
    # Domain 2 contains both others; 3 is memory of no thread.
    assert [domain.number for domain in hybrid.domains("numa")] == [0, 1]
    assert choose(hybrid, read_policy("distinct:numa"), 2).cpus == (0, 4)
