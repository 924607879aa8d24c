"""`supertwin bench` and `supertwin roofline` on a running stack."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from defusedxml.ElementTree import fromstring

from tests.benchmarks.hpcg_report import REPORT
from tests.observed import outcome, runs
from tests.stack import HOST, Stack

# One short run of each suite; the figures themselves are those of a busy machine.
SUITES = ("carm", "stream")


@pytest.fixture(scope="module")
def measured(stack: Stack) -> Stack:
    """A stack whose host was measured on one core by the quick benchmark."""
    done = stack.run("bench", "quick", "--threads", "1")
    assert f"`supertwin roofline {HOST}`" in done.stderr.splitlines()[-1]
    assert done.stdout.count("triad") == 2 or "streaming" not in done.stdout
    return stack


def test_results_are_in_the_graph_with_their_run(measured: Stack) -> None:
    answer = measured.get("/queries/benchmarks/results.json", host=HOST).json()
    rows = answer["results"]["bindings"]
    assert {row["suite"]["value"] for row in rows} == {*SUITES}
    for row in rows:
        assert row["threads"]["value"] == "1"
        assert float(row["low"]["value"]) <= float(row["value"]["value"])
        assert float(row["value"]["value"]) <= float(row["best"]["value"])
    run = rows[0]["run"]["value"].removeprefix(measured.base)
    document = measured.get(run, "application/ld+json").json()
    assert "benchmark" in json.dumps(document)
    assert "kernel.percpu.cpu.user" in json.dumps(document)


def test_result_is_described_at_its_iri(measured: Stack) -> None:
    answer = measured.get("/queries/benchmarks/results.json", kernel="triad").json()
    iri = answer["results"]["bindings"][0]["result"]["value"]
    found = measured.get(iri.removeprefix(measured.base), "text/turtle")
    assert found.status_code == 200
    assert "st:BenchmarkResult" in found.text
    assert "unit:BYTE-PER-SEC" in found.text


def test_roofline_is_json_drawing_and_page(measured: Stack) -> None:
    path = f"/roofline/{HOST}"
    found = measured.get(path, "application/json").json()
    levels = [roof["level"] for roof in found["roofs"]]
    assert (levels[0], levels[-1]) == ("L1", "DRAM")
    assert {point["kind"] for point in found["points"]} == {"benchmark"}
    drawing = measured.get(path, "image/svg+xml")
    assert fromstring(drawing.text).tag.endswith("svg")
    page = measured.get(path, "text/html")
    assert "<svg" in page.text
    assert "STREAM triad" in page.text


def test_roofline_is_a_table_and_a_picture(measured: Stack) -> None:
    path = f"/roofline/{HOST}"
    table = measured.get(path, "text/csv")
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert table.text.startswith("kind,name,")
    assert measured.run("roofline", HOST, "--format", "csv").stdout == (
        table.text.replace("\r\n", "\n")
    )
    picture = measured.get(path, "text/html", format="png")
    assert picture.headers["content-type"] == "image/png"
    assert picture.content[:4] == b"\x89PNG"
    refused = measured.get(path, "text/html", format="pdf")
    assert refused.status_code == 406
    assert "csv" in refused.text


def test_command_shows_the_same_roofline(measured: Stack) -> None:
    printed = measured.run("roofline", HOST, "--format", "json").stdout
    assert (
        json.loads(printed)
        == measured.get(f"/roofline/{HOST}", "application/json").json()
    )
    assert "DRAM" in measured.run("roofline", HOST).stdout
    fromstring(measured.run("roofline", HOST, "--format", "svg").stdout)


@pytest.mark.parametrize(
    ("host", "parameters", "status", "code"),
    [
        (HOST, {"threads": "4096"}, 404, "no-benchmark"),
        ("nowhere", {}, 404, "unknown-host"),
        (HOST, {"threads": "0"}, 422, "invalid-request"),
        (HOST, {"precision": "half"}, 422, "invalid-request"),
        (HOST, {"thread": "1"}, 400, "unknown-parameter"),
    ],
)
def test_wrong_requests_are_named(
    measured: Stack, host: str, parameters: dict[str, str], status: int, code: str
) -> None:
    answer = measured.get(f"/roofline/{host}", "application/json", **parameters)
    assert answer.status_code == status, answer.text
    assert answer.json()["type"].endswith(code), answer.text


def test_bench_names_a_host_without_a_compiler(stack: Stack) -> None:
    lacking = Stack(stack.home, {**stack.env, "CC": "no-such-compiler"})
    done = lacking.run("bench", "carm", "--threads", "1", check=False)
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith("[no-compiler]")


def test_bench_of_more_cores_than_there_are_is_refused(stack: Stack) -> None:
    done = stack.run("bench", "stream", "--threads", "4096", check=False)
    assert done.returncode != 0
    assert done.stderr.count("[") == 1


@pytest.mark.parametrize(
    "words", [("bench", "stream"), ("mix", "--intensity", "1", "--footprint", "4096")]
)
def test_unknown_host_is_named(stack: Stack, words: tuple[str, ...]) -> None:
    done = stack.run(*words, "--host", "nosuch", check=False)
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith("[unknown-host]")


def test_list_names_the_suites(stack: Stack) -> None:
    printed = stack.run("bench", "list").stdout
    names = [line.split()[0] for line in printed.splitlines()]
    installed = ("hpcc", "hpcg", "mpi", "fio", "blas")
    assert names == [*SUITES, "latency", *installed, "spmv", "cg", "fft"]


# ---- programs that are installed -------------------------------------------------


def program(folder: Path, lines: str) -> str:
    """A program that takes the place of xhpcg."""
    path = folder / "xhpcg"
    path.write_text(f"#!/bin/sh\n{lines}")
    path.chmod(0o755)
    return str(path)


def rows_of(stack: Stack, suite: str) -> list[dict[str, Any]]:
    answer = stack.get("/queries/benchmarks/results.json", host=HOST, suite=suite)
    rows: list[dict[str, Any]] = answer.json()["results"]["bindings"]
    return rows


def without_programs(stack: Stack, folder: Path, *kept: str) -> Stack:
    """The stack, for a user whose PATH has nothing but a shell and some programs."""
    for name in ("sh", *kept):
        (folder / name).symlink_to(shutil.which(name) or name)
    return Stack(stack.home, {**stack.env, "PATH": str(folder), "CC": ""})


def test_suites_that_lack_a_program_are_left_out(stack: Stack, tmp_path: Path) -> None:
    user = without_programs(stack, tmp_path, "mpirun")
    writer = program(tmp_path, f"cat > HPCG-Benchmark_3.1.txt <<'END'\n{REPORT}END\n")
    done = user.run("bench", "all", "--threads", "1", "--program", writer)
    assert "STREAM left out: " in done.stderr
    assert "has no hpcc: `apt install hpcc`" in done.stderr
    assert "HPCG" in done.stdout
    rows = rows_of(stack, "hpcg")
    assert {row["kernel"]["value"] for row in rows} >= {"SpMV", "HPCG"}
    assert all("run" in row for row in rows)


def test_messages_are_measured_by_size(stack: Stack) -> None:
    done = stack.run("bench", "mpi", "--quick", "--threads", "2")
    assert "ping-pong, 4096 B, Open MPI" in done.stdout
    path = "/queries/benchmarks/messages.json"
    answer = stack.get(path, host=HOST, pattern="ping-pong", ranks=2).json()
    rows = answer["results"]["bindings"]
    assert [int(row["size"]["value"]) for row in rows] == [
        0,
        *(16**n for n in range(6)),
    ]
    assert {row["placement"]["value"] for row in rows} == {"compact-cores"}


def test_kernels_of_conjugate_gradients_are_points(stack: Stack) -> None:
    stack.run("bench", "cg", "--quick", "--threads", "1")
    answer = stack.get("/queries/benchmarks/points.json", host=HOST).json()
    rows = answer["results"]["bindings"]
    found = {row["name"]["value"]: float(row["intensity"]["value"]) for row in rows}
    product = found["conjugate gradients, SpMV"]
    assert found["conjugate gradients, WAXPBY"] == pytest.approx(2 / 24, rel=0.001)
    # Two operations for an element of 12 bytes, and little more for each row.
    assert 0.14 < product < 2 / 12


def test_files_are_measured_in_a_folder(stack: Stack, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    done = stack.run("bench", "fio", "--quick", "--folder", str(tmp_path))
    assert "random read, operations" in done.stdout
    answer = stack.get("/queries/benchmarks/files.json", host=HOST).json()
    rows = answer["results"]["bindings"]
    assert {row["jobs"]["value"] for row in rows} == {"1"}
    assert {"sequential write", "random read"} <= {r["kernel"]["value"] for r in rows}
    lacking = stack.run("bench", "fio", "--folder", "/nowhere", check=False)
    assert lacking.returncode == 2
    assert "/nowhere is not a folder" in lacking.stderr
    assert lacking.stderr.rstrip().endswith("[bad-benchmark-folder]")


def test_host_that_lacks_all_programs_is_an_error(stack: Stack, tmp_path: Path) -> None:
    user = without_programs(stack, tmp_path)
    done = user.run("bench", "all", "--threads", "2", check=False)
    assert done.returncode == 2
    assert done.stderr.count("left out") == done.stderr.count("has no ") - 1 == 11


@pytest.mark.parametrize(
    ("lines", "says", "code"),
    [
        ("kill -9 $$\n", "run it again", "benchmark-failed"),
        ("echo half > HPCG-Benchmark_3.1.txt\n", "", "bad-benchmark-output"),
    ],
)
def test_benchmark_that_fails_leaves_no_result(
    stack: Stack, tmp_path: Path, lines: str, says: str, code: str
) -> None:
    before = rows_of(stack, "hpcg")
    path = program(tmp_path, lines)
    done = stack.run("bench", "hpcg", "--threads", "1", "--program", path, check=False)
    assert done.returncode != 0
    assert done.stderr.rstrip().endswith(f"[{code}]")
    assert says in done.stderr
    assert rows_of(stack, "hpcg") == before


@pytest.mark.parametrize(
    "words",
    [
        ["stream", "--program", "/bin/true"],
        ["list", "--threads", "3"],
        ["list", "--import", "/etc/hostname"],
        ["hpcg", "--import", "/etc/hostname", "--quick"],
        ["stream", "--threads", "9" * 21],
        ["hpcg", "--program", "/bin/true", "--source", "/tmp"],
        ["carm", "--import", "/etc/hostname"],
        ["hpcg", "--folder", "/tmp"],
    ],
)
def test_options_of_other_suites_are_refused(stack: Stack, words: list[str]) -> None:
    done = stack.run("bench", *words, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "fio and hpcc" not in done.stderr


def test_folder_without_source_is_named(stack: Stack, tmp_path: Path) -> None:
    done = stack.run("bench", "hpcg", "--source", str(tmp_path), check=False)
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith("[bad-benchmark-source]")


def test_run_is_compared_with_a_loop_of_its_mix(measured: Stack) -> None:
    done = measured.run("observe", "--pin", "compact", "--threads", "1", "--", "true")
    ((_, iri),) = runs(done.stderr)
    assert outcome(measured, iri) == "completed"
    refused = measured.run("mix", iri, check=False)
    assert refused.returncode == 2
    assert (
        "FLOPs and memory traffic were not counted: give --intensity" in refused.stderr
    )
    found = measured.run("mix", iri, "--intensity", "0.5")
    assert found.stdout.count("mix, double, 0.5 FLOP/B") == 2
    points = measured.run("query", "benchmarks/points", "--format", "json").stdout
    (point,) = [one for one in json.loads(points) if one["name"] == "loop, mix"]
    assert float(point["intensity"]) == pytest.approx(0.5)
