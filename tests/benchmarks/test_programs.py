"""The programs, compiled and run here."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.errors import CompileError, NoCompilerError
from benchmarks.programs import Program, compiled
from benchmarks.results import read_results
from benchmarks.suites import SUITES


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def here(name: str) -> Program:
    return compiled(name, SUITES[name].flags, "n1", None, None)


def run(program: Program, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program.path, *words], capture_output=True, text=True, check=False, timeout=120
    )


def kernels(printed: str, *names: str) -> set[tuple[str, ...]]:
    lines = map(json.loads, printed.splitlines())
    return {tuple(line.get(name, "") for name in names) for line in lines}


def flags() -> Sequence[str]:
    text = Path("/proc/cpuinfo").read_text()
    lines = [line for line in text.splitlines() if line.startswith(("flags", "Feat"))]
    return lines[0].split()


def test_roofline_measures_each_instruction_set_of_the_processor() -> None:
    done = run(here("carm"), "6", "0.0005", "all", "L1:16384", "DRAM:4194304")
    assert done.returncode == 0, done.stderr
    found = kernels(done.stdout, "kernel", "isa")
    assert {("clock", "scalar"), ("add", "scalar")} <= found
    assert (("fma", "avx") in found) == ("avx" in flags() and "fma" in flags())
    assert (("fma", "avx512") in found) == ("avx512f" in flags())
    levels = kernels(done.stdout, "kernel", "level")
    assert {("load", "L1"), ("2-loads-1-store", "DRAM")} <= levels
    assert ("streaming-store", "L1") not in levels
    results = read_results(done.stdout)
    assert len({result.id for result in results}) == len(results)
    assert {result.threads for result in results} == {len(os.sched_getaffinity(0))}


def test_stream_checks_its_arrays() -> None:
    done = run(here("stream"), "3", "100000")
    assert done.returncode == 0, done.stderr
    four = {"copy", "scale", "add", "triad"}
    ordinary = {(name, "write-allocate") for name in four}
    found = kernels(done.stdout, "kernel", "stores")
    assert found in (ordinary, ordinary | {(name, "streaming") for name in four})


def test_bytes_are_those_that_stream_counts() -> None:
    done = run(here("stream"), "2", "100000")
    work = {
        line["kernel"]: line["work"]
        for line in map(json.loads, done.stdout.splitlines())
    }
    assert work == {"copy": 1.6e6, "scale": 1.6e6, "add": 2.4e6, "triad": 2.4e6}


def test_latency_grows_beyond_the_first_cache() -> None:
    done = run(here("latency"), "5", "0.002", "huge", "4096", "134217728")
    small, large = read_results(done.stdout)
    assert small.size == 4096
    assert small.best < large.best


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("carm", ["5", "0.1"]),
        ("carm", ["5", "0.1", "some"]),
        ("carm", ["0", "0.1", "all"]),
        ("carm", ["5", "nan", "all"]),
        ("carm", ["1", "0.0001", "widest", "L1=5"]),
        ("carm", ["1", "0.0001", "widest", "L1:0"]),
        ("stream", ["2", "ten"]),
        ("latency", ["1", "0.001", "large", "4096"]),
    ],
)
def test_wrong_arguments_are_named(name: str, words: list[str]) -> None:
    done = run(here(name), *words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_more_memory_than_is_free_is_refused() -> None:
    done = run(here("stream"), "2", "900000000000")
    assert done.returncode == 3
    assert "MB are available" in done.stderr


def test_program_is_compiled_once() -> None:
    first = here("latency")
    before = Path(first.path).stat().st_mtime_ns
    again = here("latency")
    assert again == first
    assert Path(again.path).stat().st_mtime_ns == before
    assert "gcc" in first.compiler.lower() or "clang" in first.compiler.lower()


def test_machine_without_a_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(NoCompilerError, match="n1 has no C compiler") as caught:
        here("latency")
    assert caught.value.code == "no-compiler"


def test_compiler_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CompileError, match="no-such-flag") as caught:
        compiled("latency", ["--no-such-flag"], "n1", None, None)
    assert caught.value.code == "compile-failed"
    assert not [*Path(os.environ["XDG_CACHE_HOME"]).rglob("latency.*")]
