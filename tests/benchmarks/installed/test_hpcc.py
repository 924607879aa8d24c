"""HPCC: its summary as results, and the real program."""

import re
import subprocess
from pathlib import Path

import pytest

from benchmarks.errors import BenchmarkOutputError
from benchmarks.installed.hpcc import (
    hpcc_command,
    matrix_order,
    missing_in_hpcc,
    read_hpcc,
)

# Of hpcc 1.5.0 on two processes, with a matrix of order 500.
SUMMARY = (Path(__file__).parent / "hpcc-summary.txt").read_text("utf-8")


def test_summary_gives_figures_with_their_sizes() -> None:
    found = {(one.kernel, one.kind): one for one in read_hpcc(SUMMARY)}
    hpl = found["HPL", "all processes"]
    assert (hpl.value, hpl.order) == (pytest.approx(0.000129455e12), 500)
    assert hpl.tool == "HPCC 1.5.0"
    assert found["DGEMM", "each process"].unit == "FLOPS"
    latency = found["ping-pong", "latency"]
    assert (latency.value, latency.unit) == (pytest.approx(469.208), "NanoSEC")
    assert {one.threads for one in found.values()} == {2}
    assert len({one.id for one in found.values()}) == len(found) == 13


def changed(name: str, value: str) -> str:
    """The summary with another value of a field, or of all that a pattern matches."""
    return re.sub(rf"^({name})=.*$", rf"\1={value}", SUMMARY, flags=re.M)


def test_figures_without_a_value_are_named() -> None:
    summary = changed("HPL_Tflops", "-1")
    assert "HPL" not in {one.kernel for one in read_hpcc(summary)}
    assert missing_in_hpcc(summary) == ["HPL_Tflops"]
    assert missing_in_hpcc(SUMMARY) == []


def test_last_of_several_summaries_is_read() -> None:
    found = read_hpcc(SUMMARY + changed("HPL_Tflops", "0.5"))
    assert found[0].value == 0.5e12


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HPL_Tflops", "1e308"),
        ("HPL_Tflops", "-2"),
        ("HPL_Tflops", "inf"),
        ("CommWorldProcs", "1e300"),
        ("CommWorldProcs", "1.9"),
        ("CommWorldProcs", "0"),
        ("CommWorldProcs", "-2"),
        ("HPL_N", "-7"),
        ("HPL_N", "9" * 25),
    ],
)
def test_wrong_field_is_named(name: str, value: str) -> None:
    with pytest.raises(BenchmarkOutputError, match=f"{name}: expected") as caught:
        read_hpcc(changed(name, value))
    assert caught.value.code == "bad-benchmark-output"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mpirun: command not found",
        # cut off
        SUMMARY[: SUMMARY.index("StarFFT_Gflops")],
        SUMMARY.replace("Success=1", "Success=0"),
        SUMMARY.replace("HPL_Tflops=0.000129455", "HPL_Tflops=fast"),
        SUMMARY.replace("HPL_Tflops=0.000129455", "HPL_Tflops=nan"),
        # without a figure
        changed(r"\w+_(?:\w*flops|GBs|GUPs|Triad|usec|GBytes)", "-1"),
        changed("VersionMajor", "\x01"),
        # in another unit
        SUMMARY.replace("HPL_Tflops", "HPL_Gflops"),
    ],
)
def test_bad_output_is_refused(text: str) -> None:
    with pytest.raises(BenchmarkOutputError) as caught:
        read_hpcc(text)
    assert caught.value.code == "bad-benchmark-output"


def test_grid_of_processes_is_nearly_square() -> None:
    for processes, grid in ((1, (1, 1)), (6, (2, 3)), (7, (1, 7)), (16, (4, 4))):
        given = hpcc_command(processes, 1000)[7].splitlines()
        assert (int(given[10]), int(given[11])) == grid
    assert matrix_order(1) == 4000
    assert matrix_order(64) == 32000


def test_installed_program_is_run() -> None:
    done = subprocess.run(
        hpcc_command(2, 200), capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = {one.kernel: one for one in read_hpcc(done.stdout)}
    assert {"HPL", "DGEMM", "FFT", "RandomAccess", "triad", "ping-pong"} <= {*found}
    assert found["HPL"].order == 200


def test_matrix_that_exceeds_the_free_memory_is_refused() -> None:
    done = subprocess.run(
        hpcc_command(1, 10_000_000), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert "MB are available" in done.stderr
