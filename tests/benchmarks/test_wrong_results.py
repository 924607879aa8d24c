"""Programs with a planted error, which they must detect in what they calculated."""

import subprocess
from pathlib import Path

import pytest

from benchmarks.programs import FFTW, source_of
from benchmarks.suites import SUITES

CG, SPMV = ("1", "1000"), ("1", "0.0005", "1000", "all")
FFT = ("1", "0.0005", "64", ",".join(FFTW))


@pytest.mark.parametrize(
    ("name", "right", "wrong", "words", "message"),
    [
        ("cg", "correct(of, next);", "", CG, "the residual did not fall"),
        ("cg", "sweep(of, 1);", "sweep(of, 0);", CG, "preconditioner is not symmetric"),
        ("cg", "? NEIGHBOURS - 1 : -1", "? NEIGHBOURS : -1", CG, "has an error"),
        ("cg", "- 1 : -1", "- 1 : n - NEIGHBOURS", CG, "matrix is not symmetric"),
        ("spmv", "sums[r] += values[r]", "sums[r] = values[r]", SPMV, "ELL: row 0"),
        (
            "spmv",
            "place[order[r]] = (int)r",
            "place[r] = order[r]",
            SPMV,
            "random order",
        ),
        ("fft", "FORWARD = -1", "FORWARD = 1", FFT, "the transform of 64 numbers"),
        ("fft", "BACKWARD = 1", "BACKWARD = -1", FFT, "the inverse transform of 64"),
    ],
)
def test_wrong_result_is_detected(
    name: str, right: str, wrong: str, words: list[str], message: str, tmp_path: Path
) -> None:
    source = source_of(name).decode()
    assert source.count(right) == 1
    flags = (*SUITES[name].flags, "-x", "c", "-", "-o", f"{tmp_path}/{name}", "-lm")
    text = source.replace(right, wrong)
    subprocess.run(("cc", *flags), input=text, text=True, check=True, timeout=120)
    done = subprocess.run(
        (f"{tmp_path}/{name}", *words),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1
    assert message in done.stderr
