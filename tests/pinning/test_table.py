"""Placements on real machines keep their promises, and a broken one would be seen."""

from pathlib import Path

import pytest

from pinning.policy import read_policy
from pinning.tree import Tree
from queries.endpoint import Endpoint
from tests.agreement import MACHINES
from tests.pinning_table import LISTED, Machine, could, table, verdicts, violations


def test_real_machines(twin: Endpoint, tmp_path: Path) -> None:
    found = verdicts(twin, MACHINES, tmp_path)
    if not found:
        print(f"no topologies of real machines at {MACHINES}: nothing placed")
    print(table(found))
    assert not [line for one in found.values() for line in one.wrong]


@pytest.fixture
def machine(tree: Tree) -> Machine:
    held = {
        name: [sorted(domain.cpus) for domain in tree.domains(kind)]
        for kind, name in LISTED.items()
    }
    return Machine(tree, held)


@pytest.mark.parametrize(
    ("policy", "cpus", "said"),
    [
        ("distinct:l3", [0, 1], "two share a l3"),
        ("distinct:core", [0, 16], "two share a core"),
        ("share:l3", [0, 2], "not all share one l3"),
        ("share:l3:of=4", [0, 1], "not the l3 of CPU 4"),
        ("per:socket=2", [0, 1, 2, 8], "not 2 on each socket"),
        ("compact", [0, 0], "a CPU twice"),
        ("compact", [0, 1], "more than one core is half used"),
        ("exclude:3", [3], "a CPU that may not be used"),
    ],
)
def test_a_violation_is_seen(
    machine: Machine, policy: str, cpus: list[int], said: str
) -> None:
    assert said in list(violations(machine, read_policy(policy), cpus))


def test_a_false_refusal_is_seen(machine: Machine) -> None:
    assert could(machine, read_policy("distinct:l3"), 8)
    assert not could(machine, read_policy("distinct:l3"), 9)
    assert could(machine, read_policy("share:l3"), 4)
    assert not could(machine, read_policy("share:l3"), 5)
    assert not could(machine, read_policy("per:socket=3"), 4)
