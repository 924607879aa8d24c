"""Placements meet the constraints of their policies, and a violation would be found."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.stores.endpoint import Endpoint
from pinning.policy import read_policy
from pinning.tree import Tree
from tests.agreement import MACHINES
from tests.pinning.conftest import BIG
from tests.pinning.hwloc import Machine, read_machine
from tests.pinning.rules import could, expected, likwid, violations
from tests.pinning.table import (
    EVERYTHING,
    POLICIES,
    SHAPES,
    judged,
    own_machines,
    table,
)

OWN = (EVERYTHING.name, *(f"{name}.xml" for name in SHAPES))
SHARED = sorted(MACHINES.glob("*.xml"))
NONE: dict[int, int] = {}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The machines of the repository, by the names of their files."""
    paths = own_machines(tmp_path_factory.mktemp("own"))
    return {path.name: path for path in paths}


@pytest.mark.parametrize("name", OWN)
def test_repository_machines_match_the_reference(
    twin: Endpoint, own: dict[str, Path], tmp_path: Path, name: str
) -> None:
    """With 2 and 8 threads; the command also tries 1, 4 and all."""
    found = judged(twin, own[name], tmp_path, [2, 8])
    assert found.placed.total() > 100
    assert not found.wrong, table({name: found})


def test_every_policy_word_is_tested(
    twin: Endpoint, own: dict[str, Path], tmp_path: Path
) -> None:
    found = judged(twin, own[EVERYTHING.name], tmp_path, [2])
    assert set(found.placed) == set(found.refused | found.placed) == set(POLICIES)


@pytest.mark.skipif(not SHARED, reason=f"no machines at {MACHINES}")
@pytest.mark.parametrize("path", SHARED, ids=lambda path: path.stem)
def test_machines_next_to_the_checkout_match_the_reference(
    twin: Endpoint, tmp_path: Path, path: Path
) -> None:
    """With 4 threads, if the folder exists."""
    found = judged(twin, path, tmp_path, [4])
    assert found.placed.total() > 50
    assert not found.wrong, table({path.name: found})


@pytest.fixture(scope="module")
def machine(made_up: Callable[[str], tuple[Tree, Path]]) -> Machine:
    return read_machine(made_up(BIG)[1])


@pytest.mark.parametrize(
    ("policy", "cpus", "message"),
    [
        ("distinct:l3", [0, 1], "two share a l3"),
        ("distinct:core", [0, 16], "two share a core"),
        ("per:numa=1+distinct:socket", [0, 4], "two share a socket"),
        ("share:l3", [0, 2], "not all share one l3"),
        ("share:l3:of=4", [0, 1], "not the l3 of CPU 4"),
        ("per:socket=2", [0, 1, 2, 8], "not 2 on each socket"),
        ("compact", [0, 0], "a CPU twice"),
        ("exclude:3", [3], "a CPU that may not be used"),
    ],
)
def test_violation_is_reported(
    machine: Machine, policy: str, cpus: list[int], message: str
) -> None:
    assert message in list(violations(machine, read_policy(policy), cpus))


@pytest.mark.parametrize(
    ("policy", "count", "wanted"),
    [
        # Siblings, the next core, the next cache.
        ("compact", 5, [0, 16, 1, 17, 2]),
        ("compact-cores", 3, [0, 1, 2]),
        ("exclude:0+compact", 2, [16, 1]),
        ("distinct:l3", 3, [0, 2, 4]),
        ("share:l3:of=4", 3, [4, 20, 5]),
        ("per:numa=1+distinct:socket", 2, [0, 8]),
        ("scatter", 4, [0, 4, 8, 12]),
        ("exclude:0+scatter", 2, [1, 8]),
        ("distinct:l3", 9, None),
    ],
)
def test_reference_follows_the_order_of_hwloc(
    machine: Machine, policy: str, count: int, wanted: list[int] | None
) -> None:
    assert expected(machine, read_policy(policy), count, NONE) == wanted


def test_reference_handles_loads_and_kinds_of_cores(machine: Machine) -> None:
    loads = {cpu: 90 if cpu % 16 < 8 else 10 for cpu in machine.order}
    assert expected(machine, read_policy("idle"), 3, loads) == [8, 24, 9]
    hybrid = replace(
        machine, cores={"e": frozenset({4, 5}), "p": machine.cpus - {4, 5}}
    )
    assert expected(hybrid, read_policy("cores:e"), 2, NONE) == [4, 5]
    assert list(violations(hybrid, read_policy("cores:e"), [4, 6]))


def test_false_refusal_is_reported(machine: Machine) -> None:
    for policy, most in (
        ("distinct:l3", 8),
        ("share:l3", 4),
        ("per:numa=1+distinct:socket", 2),
        ("per:socket=3", 6),
    ):
        assert could(machine, read_policy(policy), most)
        assert not could(machine, read_policy(policy), most + 1)
    assert not could(machine, read_policy("per:socket=3"), 4)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("S1:0-1,8", [8, 9, 24]),
        ("M3:0", [12]),
        ("M3", [12, 28, 13, 29, 14, 30, 15, 31]),
        ("E:S0:3", [0, 16, 1]),
        ("E:S0:3:1:2", [0, 1, 2]),
        ("S:scatter:3", [0, 8, 1]),
        ("0,3-4", [0, 3, 4]),
        ("S0:16", None),
        ("S2:0", None),
        ("S0:0@N:0", None),
        ("32", None),
    ],
)
def test_reference_reads_likwid_expressions(
    machine: Machine, text: str, wanted: list[int] | None
) -> None:
    assert likwid(machine, text) == wanted
