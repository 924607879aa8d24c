"""Fourier transforms with the FFTW that is installed."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.errors import NotInstalledError
from benchmarks.machine import Cache, Machine
from benchmarks.programs import ANY_FFTW, FFTW, Target, check_installed, compiled
from benchmarks.results import read_results
from benchmarks.suites import FULL, QUICK, SUITES

PATTERNS = ",".join(FFTW)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield compiled("fft", SUITES["fft"].flags, Target("n1")).path


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=120
    )


def test_each_size_is_measured(program: str) -> None:
    done = run(program, "6", "0.001", "2,64,4096", PATTERNS)
    assert done.returncode == 0, done.stderr
    found = read_results(done.stdout)
    assert [(one.kernel, one.order) for one in found] == [
        *(("fft", 2), ("fft", 64), ("fft", 4096))
    ]
    assert {one.unit for one in found} == {"FLOPS"}
    assert {one.threads for one in found} == {len(os.sched_getaffinity(0))}
    assert all(one.tool.startswith("fftw-3") for one in found)
    assert [one.size for one in found] == [64, 2048, 131072]


def test_library_without_threads_is_named(program: str, tmp_path: Path) -> None:
    (path, *_) = [one for each in FFTW for one in Path("/").glob(each[1:])]
    shutil.copy(path, tmp_path / "libfftw3.so.3")
    done = run(program, "1", "0.001", "64", f"{tmp_path}/libfftw3.so.3")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{tmp_path}/libfftw3_threads.so.3" in done.stderr


def test_sizes_go_from_the_first_cache_to_beyond_the_last() -> None:
    first = tuple(Cache(1, 32 << 10, frozenset({cpu})) for cpu in (0, 1))
    last = Cache(3, 32 << 20, frozenset({0, 1}))
    machine = Machine("n1", (2,), (2,), (*first, last))
    words = SUITES["fft"].arguments(machine, [0, 1], FULL)
    sizes = [int(size) for size in words[2].split(",")]
    # Each with its transform: half of the first cache, and four times the last.
    assert sizes[0] * 32 == 16 << 10
    assert sizes[-1] * 32 == 128 << 20
    assert all(
        size == 2 * before for before, size in zip(sizes, sizes[1:], strict=False)
    )
    quick = SUITES["fft"].arguments(machine, [0, 1], QUICK)[2].split(",")
    assert [quick[0], quick[-1]] == [str(sizes[0]), str(sizes[-1])]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["6", "0.001", "64"], 2),
        (["6", "0.001", "many", PATTERNS], 2),
        (["0", "0.001", "64", PATTERNS], 2),
        (["6", "0.001", "64", "/nowhere/*"], 1),
    ],
)
def test_wrong_arguments_are_named(program: str, words: list[str], status: int) -> None:
    done = run(program, *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.count("\n") == 1


def test_machine_without_the_library_is_named() -> None:
    check_installed([ANY_FFTW], Target("n1"))
    with pytest.raises(NotInstalledError, match="n1 has no no-such-library"):
        check_installed(["no-such-library"], Target("n1"))
