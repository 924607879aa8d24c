"""Sparse matrix-vector products; the program compares all formats and orders."""

import subprocess
from collections.abc import Iterator

import pytest

from benchmarks.machine import Cache, Machine
from benchmarks.programs import Target, compiled
from benchmarks.results import read_results
from benchmarks.suites import FULL, QUICK, SUITES

FORMATS = ("CSR", "ELL", "SELL-8-1", "SELL-8-256")
RANDOM, NARROW = (
    "27-point stencil, random order",
    "27-point stencil, reverse Cuthill-McKee",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield compiled("spmv", SUITES["spmv"].flags, Target("n1")).path


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=120
    )


# The second number of rows is not a multiple of a chunk.
@pytest.mark.parametrize("rows", [1000, 1331])
def test_each_format_of_each_matrix_is_measured(program: str, rows: int) -> None:
    done = run(program, "6", "0.0005", str(rows), "natural")
    assert done.returncode == 0, done.stderr
    found = read_results(done.stdout)
    assert {one.order for one in found} == {rows}
    kinds = {one.kind for one in found}
    every = {f"{name}, {f}" for name in ("27-point stencil", "random") for f in FORMATS}
    assert every <= kinds
    assert {"skewed, CSR", "skewed, SELL-8-256"} <= kinds
    # Its longest row would fill up all others.
    assert "skewed, ELL" not in kinds
    assert len({one.id for one in found}) == len(found)


def test_work_is_two_operations_for_each_element(program: str) -> None:
    found = read_results(run(program, "1", "0.0005", "1000", "natural").stdout)
    sizes = {one.kind: one.size for one in found}
    # Of a cube with an edge of ten: (3 x 10 - 2) to the power of three.
    assert sizes["27-point stencil, CSR"] == 28**3 * 12
    assert sizes["random, CSR"] == sizes["random, ELL"] == 1000 * 27 * 12
    assert sizes["skewed, SELL-8-256"] < sizes["skewed, SELL-8-1"]


def test_each_matrix_is_reordered(program: str) -> None:
    done = run(program, "1", "0.0005", "1331", "all")
    assert done.returncode == 0, done.stderr
    found = read_results(done.stdout)
    widths = {one.kind: one.bandwidth for one in found}
    for name in ("27-point stencil", "random", "skewed"):
        assert f"{name}, random order, CSR" in widths
        assert f"{name}, reverse Cuthill-McKee, SELL-8-256" in widths
    for each in FORMATS:
        # A point's last neighbour is a plane, a line and a point away.
        assert widths[f"27-point stencil, {each}"] == 11 * 11 + 11 + 1
        assert widths[f"{RANDOM}, {each}"] > 1000
        # The points as far from a corner as its opposite faces.
        assert widths[f"{NARROW}, {each}"] <= 11**3 - 10**3
    assert len({one.id for one in found}) == len(found)
    assert any(one.variant.endswith("N=1331, bandwidth 133") for one in found)


def test_matrix_exceeds_the_caches() -> None:
    last = Cache(3, 32 << 20, frozenset({0, 1}))
    machine = Machine("n1", (2,), (2,), (last,))
    words = SUITES["spmv"].arguments(machine, [0], FULL)
    assert int(words[2]) * 27 * 12 == pytest.approx(4 * 32 << 20, rel=0.01)
    quick = SUITES["spmv"].arguments(machine, [0], QUICK)
    assert (words[3], quick[3]) == ("all", "natural")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["6", "0.001", "1000"], 2),
        (["6", "0.001", "1000", "some"], 2),
        (["6", "0.001", "many", "all"], 2),
        (["0", "0.001", "1000", "all"], 2),
        (["6", "0.001", "1000000000", "all"], 3),
    ],
)
def test_wrong_arguments_are_named(program: str, words: list[str], status: int) -> None:
    done = run(program, *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.count("\n") == 1
