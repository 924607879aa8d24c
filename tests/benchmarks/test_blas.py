"""Matrix multiplication with the BLAS libraries that are installed."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.errors import NotInstalledError
from benchmarks.programs import ANY_BLAS, BLAS, Target, check_installed, compiled
from benchmarks.results import read_results
from benchmarks.suites import SUITES


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield compiled("blas", SUITES["blas"].flags, Target("n1")).path


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=120
    )


def test_each_library_is_measured_by_order(program: str) -> None:
    done = run(program, "6", "0.001", "8,32", ",".join(BLAS))
    assert done.returncode == 0, done.stderr
    found = read_results(done.stdout)
    assert {(one.kernel, one.order) for one in found} == {
        *(("dgemm", 8), ("dgemm", 32), ("zgemm", 8), ("zgemm", 32))
    }
    assert {one.unit for one in found} == {"FLOPS"}
    assert {one.threads for one in found} == {len(os.sched_getaffinity(0))}
    assert len({one.id for one in found}) == len(found)


def test_folder_of_a_library_is_part_of_its_name(program: str, tmp_path: Path) -> None:
    (path, *_) = Path("/usr/lib").glob("*/*/libblas.so.3")
    folder = tmp_path / "another-build"
    folder.mkdir()
    shutil.copy(path, folder / "libblas.so.3")
    done = run(program, "1", "0.001", "8", f"{path},{folder}/libblas*")
    tools = {one.tool for one in read_results(done.stdout)}
    assert len(tools) == 2
    assert sum(tool.endswith("(another-build)") for tool in tools) == 1


def test_unusable_library_is_named(program: str, tmp_path: Path) -> None:
    (tmp_path / "libblas.so.3").write_text("text")
    done = run(program, "1", "0.001", "8", f"{tmp_path}/*.so.3")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{tmp_path}/libblas.so.3" in done.stderr


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["6", "0.001", "8"], 2),
        (["6", "0.001", "eight", "/usr/lib/x"], 2),
        (["6", "0.001", "8", "/nowhere/*"], 1),
        # 240 GB for each matrix
        (["1", "0.001", "100000", ",".join(BLAS)], 1),
    ],
)
def test_wrong_arguments_are_named(program: str, words: list[str], status: int) -> None:
    done = run(program, *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.count("\n") == 1


def test_machine_without_a_library_is_named() -> None:
    check_installed([ANY_BLAS], Target("n1"))
    with pytest.raises(NotInstalledError, match=r"n1 has no /nowhere/\*") as caught:
        check_installed(["/nowhere/* /none/*"], Target("n1"))
    assert caught.value.code == "benchmark-not-installed"
