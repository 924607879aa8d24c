"""Benchmarks that are imported, and benchmarks that are forgotten."""

import json
import os
from pathlib import Path

import pytest

from tests.benchmarks.hpcg_report import REPORT
from tests.e2e.test_bench import program, rows_of
from tests.observed import wait_until_closed
from tests.servers import ROOT
from tests.stack import Stack


def test_output_from_elsewhere_is_imported(stack: Stack, tmp_path: Path) -> None:
    file = tmp_path / "HPCG-Benchmark_3.1_2026.txt"
    file.write_text(REPORT.replace("Raw SpMV=3.25", "Raw SpMV=1234.5"))
    done = stack.run("bench", "hpcg", "--import", str(file))
    assert "1.23 TFLOP/s" in done.stdout
    (row,) = (r for r in rows_of(stack, "hpcg") if "1234500000000" in str(r["value"]))
    assert "run" not in row
    assert "policy" not in row
    iri = row["result"]["value"].removeprefix(stack.base)
    assert "st:BenchmarkResult" in stack.get(iri, "text/turtle").text


@pytest.mark.parametrize(
    ("words", "text", "code"),
    [
        (["hpcg"], REPORT[:-60], "bad-benchmark-output"),
        (["hpcc"], REPORT, "bad-benchmark-output"),
        (["hpcg"], "", "bad-benchmark-output"),
        (["hpcg"], REPORT.replace("=4", "=0.5"), "bad-benchmark-output"),
        (["hpcg", "--host", "n9"], REPORT, "unknown-host"),
    ],
)
def test_bad_import_leaves_no_result(
    stack: Stack, tmp_path: Path, words: list[str], text: str, code: str
) -> None:
    before = [rows_of(stack, suite) for suite in ("hpcc", "hpcg")]
    file = tmp_path / "output.txt"
    file.write_text(text)
    done = stack.run("bench", *words, "--import", str(file), check=False)
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith(f"[{code}]")
    assert [rows_of(stack, suite) for suite in ("hpcc", "hpcg")] == before


def fio_output(*jobs: str) -> str:
    """Return fio's JSON of sequential reads by some numbers of jobs."""
    side = {"bw_bytes": 4096000}
    runs = [
        {"job options": {"rw": "read", "numjobs": count}, "error": 0, "read": side}
        for count in jobs
    ]
    return json.dumps({"fio version": "fio-3.33", "jobs": runs})


def test_imported_benchmark_is_forgotten(stack: Stack, tmp_path: Path) -> None:
    before = rows_of(stack, "fio")
    file = tmp_path / "a\nb\udcff.json"
    file.write_text(fio_output("1", "2"))
    done = stack.run("bench", "fio", "--import", str(file))
    id_ = done.stderr.partition("kept as ")[2].partition(":")[0]
    assert len(rows_of(stack, "fio")) == len(before) + 2
    assert stack.run("forget", "--yes", id_).stdout == f"{id_} is forgotten\n"
    assert rows_of(stack, "fio") == before
    again = stack.run("forget", "--yes", id_, check=False)
    assert again.stderr.rstrip().endswith("[no-such-observation]")


def test_benchmark_is_forgotten_with_its_runs(stack: Stack, tmp_path: Path) -> None:
    before = rows_of(stack, "hpcg")
    path = program(tmp_path, f"cat > HPCG-Benchmark_3.1.txt <<'END'\n{REPORT}END\n")
    stack.run("bench", "hpcg", "--threads", "1", "--program", path)
    row = next(row for row in rows_of(stack, "hpcg") if row not in before)
    run = row["run"]["value"]
    wait_until_closed(stack, run)
    id_ = row["result"]["value"].partition("/benchmark/")[2].partition("/")[0]
    done = stack.run("forget", "--yes", f"{stack.base}/benchmark/{id_}")
    names = (run.rpartition("/")[2], id_)
    assert done.stdout == "".join(f"{name} is forgotten\n" for name in names)
    assert rows_of(stack, "hpcg") == before
    assert run not in stack.run("query", "observations/runs", "--format", "csv").stdout


def test_only_a_regular_file_of_limited_size_is_imported(
    stack: Stack, tmp_path: Path
) -> None:
    pipe, large = tmp_path / "pipe", tmp_path / "large"
    os.mkfifo(pipe)
    with large.open("wb") as file:
        file.truncate(3 << 30)
    for path in (pipe, large):
        done = stack.run("bench", "fio", "--import", str(path), check=False)
        assert done.returncode == 2
        assert done.stderr.rstrip().endswith("[bad-benchmark-output]")


def test_import_names_what_was_not_measured(stack: Stack, tmp_path: Path) -> None:
    summary = ROOT / "tests" / "benchmarks" / "installed" / "hpcc-summary.txt"
    file = tmp_path / "hpccoutf.txt"
    text = summary.read_text("utf-8")
    file.write_text(text.replace("HPL_Tflops=0.000129455", "HPL_Tflops=-1"))
    done = stack.run("bench", "hpcc", "--import", str(file))
    assert "not measured: HPL_Tflops\n" in done.stderr
    assert "HPL" not in done.stdout
