"""HPCG: its report as results, and the programs that write one."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks.errors import (
    BenchmarkOutputError,
    BenchmarkSourceError,
    CompileError,
    NotInstalledError,
)
from benchmarks.installed.hpcg import hpcg_command, read_hpcg
from benchmarks.installed.source import built
from benchmarks.programs import Target, check_installed
from tests.benchmarks.hpcg_report import REPORT

RATING = "HPCG result is VALID with a GFLOP/s rating of=2.75"


def writer(folder: Path, report: str = REPORT) -> str:
    """A program that writes a report as xhpcg does, and checks its input."""
    program = folder / "xhpcg"
    program.write_text(
        "#!/bin/sh\nset -e\ngrep -qx '16 16 16' hpcg.dat\n"
        f"cat > HPCG-Benchmark_3.1.txt <<'END'\n{report}END\n"
    )
    program.chmod(0o755)
    return str(program)


def run(program: str) -> subprocess.CompletedProcess[str]:
    words = hpcg_command(program, 1, 1, edge=16)
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=60
    )


def test_kernels_and_rating_are_read() -> None:
    found = {one.kernel: one for one in read_hpcg(REPORT)}
    assert [*found] == ["DDOT", "WAXPBY", "SpMV", "MG", "Total", "HPCG"]
    assert found["SpMV"].value == pytest.approx(3.25e9)
    assert found["HPCG"].value == pytest.approx(2.75e9)
    assert found["MG"].threads == 8
    assert found["MG"].variant == "104x104x52 on each of 4, HPCG 3.1"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "HPL_Tflops=1\n",
        # cut off
        REPORT[: REPORT.index("Final Summary")],
        REPORT[: REPORT.index("75\n")].replace("GFLOP/s Summary::Raw MG=3.5\n", ""),
        # in another unit
        REPORT.replace("GFLOP/s rating", "MFLOP/s rating"),
        REPORT.replace("=2.75", "=fast"),
        REPORT.replace("=2.75", "=-1"),
        REPORT.replace(RATING, "HPCG result is=INVALID."),
        REPORT.replace("Raw DDOT=2.5", "Raw DDOT=1e305"),
        REPORT.replace("Raw DDOT=2.5", "Raw DDOT=nan"),
        REPORT.replace("Processes=4", "Processes=1e30"),
        REPORT.replace("Processes=4", "Processes=0.5"),
        # each of them is possible, but not their product
        REPORT.replace("=4", "=99999999").replace("processes=2", "processes=3"),
        REPORT.replace("nx=104", "nx=-104"),
        REPORT.replace("version=3.1", "version=" + "3" * 1000),
        # a pattern that matches in the square of the length would not end
        "::" * 1_000_000,
    ],
)
def test_bad_report_is_refused(text: str) -> None:
    with pytest.raises(BenchmarkOutputError) as caught:
        read_hpcg(text)
    assert caught.value.code == "bad-benchmark-output"


def test_report_of_a_program_is_printed(tmp_path: Path) -> None:
    done = run(writer(tmp_path))
    assert done.returncode == 0, done.stderr
    assert read_hpcg(done.stdout)[-1].value == pytest.approx(2.75e9)


def test_program_that_is_killed_prints_no_report(tmp_path: Path) -> None:
    program = tmp_path / "xhpcg"
    program.write_text("#!/bin/sh\necho half > HPCG-Benchmark_3.1.txt\nkill -9 $$\n")
    program.chmod(0o755)
    done = run(str(program))
    assert done.returncode != 0
    assert done.stdout == ""


def test_program_that_is_not_installed_is_named() -> None:
    with pytest.raises(NotInstalledError, match="n1 has no xhpcg: build") as caught:
        check_installed(["sh", "xhpcg"], Target("n1"))
    assert caught.value.code == "benchmark-not-installed"


# ---- from a source folder --------------------------------------------------------


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A folder like HPCG's, whose program counts its processes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "hpcg" / "src"
    folder.mkdir(parents=True)
    (folder / "hpcg.hpp").write_text("int processes();\n")
    (folder / "ComputeMG_ref.cpp").write_text(
        "#include <mpi.h>\n#include <hpcg.hpp>\n"
        "int processes() { int n; MPI_Comm_size(MPI_COMM_WORLD, &n); return n; }\n"
    )
    text = REPORT.replace("\n", "\\n").replace("Processes=4", "Processes=%d")
    (folder / "main.cpp").write_text(
        "#include <mpi.h>\n#include <hpcg.hpp>\n#include <cstdio>\n"
        "int main(int n, char **words) {\n"
        "  MPI_Init(&n, &words); int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
        '  FILE *file = rank ? 0 : std::fopen("HPCG-Benchmark_3.1.txt", "w");\n'
        f'  if (file) std::fprintf(file, "{text}", processes());\n'
        "  MPI_Finalize();\n}\n"
    )
    return folder.parent


def test_source_folder_is_compiled_and_run(source: Path) -> None:
    program = built(str(source), Target("n1"))
    assert program.path.startswith(os.environ["XDG_CACHE_HOME"])
    assert "-march=native" in program.flags
    words = hpcg_command(program.path, 2, 1, edge=16)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert read_hpcg(done.stdout)[0].threads == 4
    assert built(str(source), Target("n1")) == program


def test_folder_without_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkSourceError, match="no src/ComputeMG_ref") as caught:
        built(str(tmp_path), Target("n1"))
    assert caught.value.code == "bad-benchmark-source"


def test_source_with_a_fault_is_quoted(source: Path) -> None:
    (source / "src" / "hpcg.hpp").write_text("int processes()\n")
    with pytest.raises(CompileError) as caught:
        built(str(source), Target("n1"))
    assert caught.value.code == "compile-failed"
    assert not [*Path(os.environ["XDG_CACHE_HOME"]).rglob("xhpcg*")]
