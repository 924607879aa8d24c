"""Our own conjugate gradients; the program checks its solver and its solution."""

import json
import os
import subprocess
from collections.abc import Iterator

import pytest

from benchmarks.machine import Cache, Machine
from benchmarks.programs import Target, compiled
from benchmarks.results import read_results
from benchmarks.suites import FULL, SUITES

KERNELS = ("SpMV", "dot", "WAXPBY", "multigrid", "CG")
# The smallest grid, whose matrix has (3 x 31 - 2) to the power of three elements.
ROWS, ELEMENTS = 31**3, 91**3


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield compiled("cg", SUITES["cg"].flags, Target("n1")).path


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=120
    )


def works(*words: str) -> dict[tuple[str, str], float]:
    """The operations and bytes of each kernel in a solution."""
    done = run(*words)
    assert done.returncode == 0, done.stderr
    lines = map(json.loads, done.stdout.splitlines())
    return {(line["kernel"], line["unit"]): line["work"] for line in lines}


def test_operations_and_bytes_of_each_kernel_are_measured(program: str) -> None:
    done = run(program, "6", "1000")
    assert done.returncode == 0, done.stderr
    found = read_results(done.stdout)
    units = ("FLOPS", "BYTE-PER-SEC")
    assert [(one.kernel, one.unit) for one in found] == [
        (kernel, unit) for kernel in KERNELS for unit in units
    ]
    assert {one.order for one in found} == {ROWS}
    assert {one.threads for one in found} == {len(os.sched_getaffinity(0))}
    assert len({one.id for one in found}) == len(found)


def test_work_is_that_of_the_algorithm(program: str) -> None:
    found = works(program, "1", "1000")
    iterations = found["SpMV", "FLOP"] / (2 * ELEMENTS)
    assert iterations in range(1, 21)
    assert found["dot", "FLOP"] == found["WAXPBY", "FLOP"] == iterations * 6 * ROWS
    assert found["SpMV", "BYTE"] == iterations * (12 * ELEMENTS + 24 * ROWS)
    assert found["dot", "BYTE"] == iterations * 5 * 8 * ROWS
    for unit in ("FLOP", "BYTE"):
        parts = sum(found[kernel, unit] for kernel in KERNELS[:-1])
        assert found["CG", unit] == pytest.approx(parts)


@pytest.mark.parametrize("rows", [1000, 40_000])
def test_iterations_do_not_depend_on_the_threads(program: str, rows: int) -> None:
    first = min(os.sched_getaffinity(0))
    words = (program, "1", str(rows))
    assert works("taskset", "-c", str(first), *words) == works(*words)


def test_matrix_exceeds_the_caches() -> None:
    last = Cache(3, 32 << 20, frozenset({0, 1}))
    machine = Machine("n1", (2,), (2,), (last,))
    words = SUITES["cg"].arguments(machine, [0], FULL)
    assert int(words[1]) * 27 * 12 == pytest.approx(4 * 32 << 20, rel=0.01)


@pytest.mark.parametrize(
    ("words", "status"),
    [(["6"], 2), (["6", "many"], 2), (["0", "1000"], 2), (["6", "1000000000"], 3)],
)
def test_wrong_arguments_are_named(program: str, words: list[str], status: int) -> None:
    done = run(program, *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.count("\n") == 1
