"""The recorder in real programs with planted imbalance, and where it cannot record."""

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from observations.pop.analysis import Analysis, Efficiencies, analyse
from tests.observations.pop.recorded import MPIRUN, build, recorded

pytestmark = pytest.mark.serial

# On a busy machine sleeps end late, and the start of a program takes useful time.
LATE = 0.25


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    folder = tmp_path_factory.mktemp("programs")
    return cache(lambda kind: build(kind, folder))


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("OMP_WAIT_POLICY", "passive")
        yield


def near(found: Efficiencies | None, balance: float) -> Efficiencies:
    assert found
    assert found.load_balance == pytest.approx(balance, abs=LATE)
    assert found.load_balance * found.communication == pytest.approx(found.parallel)
    return found


def test_openmp_imbalance_and_serial_part_are_found(
    built: Callable[[str], str],
) -> None:
    # Useful: 1.0 + 2 * 0.2 s and 2 * 0.5 s; 2 s in all.
    analysis = analyse(recorded(built("llvm"), "1.0", "0.2", "0.5"))
    whole = near(analysis.whole, 1.2 / 1.4)
    assert analysis.openmp == whole
    assert analysis.threads == 2
    assert whole.communication == pytest.approx(1.4 / 2.0, abs=LATE)
    assert analysis.missing == {"MPI": "the program used no MPI"}
    first, other = analysis.processes[0].threads
    assert first.barrier == pytest.approx(0.6, abs=LATE)
    # The other thread waits for the serial part, before it exists, too.
    assert other.idle == pytest.approx(1.0, abs=LATE)
    assert other.barrier == pytest.approx(0.0, abs=LATE)


def test_waiting_for_a_critical_section_is_found(built: Callable[[str], str]) -> None:
    analysis = analyse(recorded(built("llvm"), "0", "0.2", "0.2", "critical"))
    assert analysis.total.lock == pytest.approx(2 * 0.2, abs=LATE)


def test_program_for_libgomp_is_recorded_on_libomp_only(
    built: Callable[[str], str],
) -> None:
    words = (built("gcc"), "0", "0.1", "0.3")
    missing = analyse(recorded(*words))
    assert missing.whole is None
    assert "--libomp" in missing.missing["parallel efficiency"]
    near(analyse(recorded(*words, libomp=True)).whole, 0.2 / 0.3)


def test_imbalance_of_ranks_is_found(built: Callable[[str], str]) -> None:
    # Useful: 2 * 0.2 and 2 * 0.4 s.
    analysis = analyse(recorded(*MPIRUN, built("mpi"), "0", "0.2", "0"))
    assert [one.rank for one in analysis.processes] == [0, 1]
    for found in (analysis.whole, analysis.mpi):
        near(found, 0.6 / 0.8)
    assert analysis.missing == {"OpenMP": "the program used no OpenMP"}
    first, other = (one.threads[0] for one in analysis.processes)
    assert first.mpi_wait == pytest.approx(0.4, abs=LATE)
    assert other.mpi_wait == pytest.approx(0.0, abs=LATE)


def test_hybrid_imbalance_is_told_apart(built: Callable[[str], str]) -> None:
    # Useful: 2 * 0.1 and 2 * 0.3 s in rank 0, twice that in rank 1.
    analysis = analyse(recorded(*MPIRUN, built("hybrid"), "0", "0.1", "0.3"))
    assert (len(analysis.processes), analysis.threads) == (2, 4)
    whole = near(analysis.whole, 0.6 / 1.2)
    mpi = near(analysis.mpi, 0.9 / 1.2)
    openmp = near(analysis.openmp, 0.6 / 0.9)
    assert mpi.parallel * openmp.parallel == pytest.approx(whole.parallel)


def reason_of(analysis: Analysis) -> str:
    assert not analysis.processes
    return analysis.missing["parallel efficiency"]


def test_reason_is_told_if_nothing_can_be_recorded(
    built: Callable[[str], str], tmp_path: Path
) -> None:
    words = ("0", "0.01", "0.01")
    serial = analyse(recorded(built("serial"), *words))
    assert "no process used OpenMP or MPI" in reason_of(serial)
    static = analyse(recorded(built("static"), *words))
    assert "is static" in reason_of(static)
    path = {"PATH": str(tmp_path)}
    no_compiler = analyse(recorded(built("llvm"), *words, env=path))
    assert "no C compiler" in reason_of(no_compiler)


def test_broken_compiler_is_a_reason(
    built: Callable[[str], str], tmp_path: Path
) -> None:
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho 'error: no space left' >&2\nexit 1\n")
    broken.chmod(0o755)
    found = recorded(built("llvm"), "0", "0.01", "0.01", env={"CC": str(broken)})
    assert "cannot be compiled: error: no space left" in reason_of(analyse(found))


def test_folder_that_cannot_be_preloaded_is_a_reason(
    built: Callable[[str], str], tmp_path: Path
) -> None:
    cache_ = {"XDG_CACHE_HOME": str(tmp_path / "a b")}
    found = recorded(built("llvm"), "0", "0.01", "0.01", env=cache_)
    assert "no space or colon" in reason_of(analyse(found))


def test_killed_program_has_no_times(built: Callable[[str], str]) -> None:
    wait = "until ls $SUPERTWIN_POP_FOLDER/*.part 2> /dev/null; do sleep 0.05; done"
    script = f"{built('llvm')} 0 99 99 & {wait}; kill -9 $!"
    found = recorded("sh", "-c", script)
    assert "it was killed" in reason_of(analyse(found))


def test_tool_of_the_program_is_left_alone(
    built: Callable[[str], str], tmp_path: Path
) -> None:
    source, tool = tmp_path / "tool.c", tmp_path / "tool.so"
    source.write_text(
        "static int begin(void *f, int d, void *t) { return 1; }\n"
        "static void end(void *t) {}\n"
        "static struct { void *begin, *end; long data; } tool = {begin, end, 0};\n"
        "void *ompt_start_tool(unsigned v, const char *r) { return &tool; }\n"
    )
    words = ["gcc", "-shared", "-fPIC", str(source), "-o", str(tool)]
    subprocess.run(words, check=True, timeout=120)
    words = [built("llvm"), "0", "0.01", "0.01"]
    found = recorded(*words, env={"OMP_TOOL_LIBRARIES": str(tool)})
    assert "another OMPT tool" in reason_of(analyse(found))
    # A tool that cannot be loaded does not keep ours from being used.
    found = recorded(*words, env={"OMP_TOOL_LIBRARIES": str(tmp_path / "none.so")})
    assert analyse(found).whole
