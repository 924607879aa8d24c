"""Messages between real ranks of the installed MPI."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from benchmarks.errors import NoCompilerError
from benchmarks.launch import by_mpirun
from benchmarks.programs import Target, compiled
from benchmarks.results import Result, read_results
from benchmarks.suites import SUITES

POINT_TO_POINT = {"ping-pong", "sendrecv", "exchange"}
COLLECTIVE = {"allreduce", "bcast", "alltoall"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        suite = SUITES["mpi"]
        found = compiled("mpi", suite.flags, Target("n1"), suite.compiler)
        yield found.path


def run(ranks: int, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [*by_mpirun(ranks), *words]
    return subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=120
    )


def results(ranks: int, *words: str) -> Sequence[Result]:
    done = run(ranks, *words)
    assert done.returncode == 0, done.stderr
    return read_results(done.stdout)


def test_every_pattern_is_measured_for_every_size(program: str) -> None:
    found = results(2, program, "6", "0.0002", "0", "4", "65536")
    assert {one.kernel for one in found} == POINT_TO_POINT | COLLECTIVE
    sizes = {(one.kernel, one.transfer) for one in found}
    assert {("ping-pong", 0), ("bcast", 65536), ("allreduce", 4)} <= sizes
    assert ("bcast", 0) not in sizes
    assert {one.unit for one in found} == {"NanoSEC"}
    assert all(one.tool.startswith(("Open MPI v", "MPICH ")) for one in found)
    assert len({one.id for one in found}) == len(found)


def test_more_than_two_ranks_do_not_play_ping_pong(program: str) -> None:
    found = results(3, program, "2", "0.0001", "1", "16")
    assert {one.kernel for one in found} == (POINT_TO_POINT | COLLECTIVE) - {
        "ping-pong"
    }
    assert {one.threads for one in found} == {3}
    # One byte is not a float.
    assert ("allreduce", 1) not in {(one.kernel, one.transfer) for one in found}


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        (2, ["6"]),
        (2, ["6", "0.001", "many"]),
        (2, ["0", "0.001", "8"]),
        (1, ["6", "0.001", "8"]),
    ],
)
def test_wrong_arguments_are_refused(
    program: str, ranks: int, words: list[str]
) -> None:
    done = run(ranks, program, *words)
    assert done.returncode == 2
    assert done.stdout == ""


def test_machine_without_mpi_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoCompilerError, match="no MPI compiler") as caught:
        compiled("mpi", [], Target("n1"), "mpicc")
    assert caught.value.code == "no-compiler"


def test_mpicc_without_its_headers_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapper = tmp_path / "mpicc"
    wrapper.write_text('#!/bin/sh\n[ "$1" = -show ] || exec gcc "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(NoCompilerError, match="libopenmpi-dev"):
        compiled("mpi", [], Target("n1"), "mpicc")
