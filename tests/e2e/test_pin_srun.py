"""`supertwin pin --format srun`: a real Slurm binds each task as requested."""

import os
import subprocess

import pytest

from pinning.formats import COMMAND
from tests.slurm import Slurm
from tests.stack import Stack

pytestmark = pytest.mark.e2e

_TASK = "import os; print(os.environ['SLURM_PROCID'], *sorted(os.sched_getaffinity(0)))"


_ALLOCATION = "salloc --quiet --nodes=1 --exclusive"


def bound(
    stack: Stack, slurm: Slurm, *words: str, within: str | None = None
) -> list[list[int]]:
    """Start tasks as the printed line says; return the CPUs of each task, in order.

    The line runs ``within`` an allocation. By default it does so only where srun
    refuses or ignores --mincpus: newer ones allocate no whole node (docs/pinning.md).
    """
    line = stack.run("pin", *words, "--format", "srun").stdout.strip()
    assert line.endswith(f" {COMMAND}")
    if within is None:
        within = _ALLOCATION if slurm.version >= (23, 11) else ""
    script = f'{within} {line.removesuffix(COMMAND)} "$@"'
    ran = subprocess.run(
        ["sh", "-c", script, "sh", "python3", "-c", _TASK],
        env=os.environ | slurm.env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, (line, ran.stderr)
    output = sorted(
        [int(number) for number in row.split()] for row in ran.stdout.splitlines()
    )
    assert [rank for rank, *_ in output] == list(range(len(output)))
    return [cpus for _, *cpus in output]


@pytest.mark.parametrize("cpus", [[0], [1], [0, 1], [1, 0]])
def test_each_task_gets_its_cpu(stack: Stack, slurm: Slurm, cpus: list[int]) -> None:
    chosen = ("--policy", f"likwid:{','.join(map(str, cpus))}")
    assert bound(stack, slurm, *chosen) == [[cpu] for cpu in cpus]


def test_tasks_are_bound_to_the_cpus_of_the_policy(stack: Stack, slurm: Slurm) -> None:
    words = ("--threads", "2", "--policy", "scatter")
    named = stack.run("pin", *words).stdout.strip().split(",")
    assert bound(stack, slurm, *words) == [[int(cpu)] for cpu in named]


def test_binding_works_within_an_allocation(stack: Stack, slurm: Slurm) -> None:
    words = ("--policy", "likwid:1")
    assert bound(stack, slurm, *words, within=_ALLOCATION) == [[1]]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--ranks", "2", "--bind", "hwthread"), [[0], [1]]),
        (("--ranks", "1", "--threads", "2", "--bind", "hwthread"), [[0, 1]]),
        (("--ranks", "1", "--bind", "none"), None),
    ],
)
def test_ranks_are_bound_by_their_masks(
    stack: Stack, slurm: Slurm, words: tuple[str, ...], expected: list[list[int]] | None
) -> None:
    found = bound(stack, slurm, *words)
    assert found == (expected or [sorted(os.sched_getaffinity(0))])
