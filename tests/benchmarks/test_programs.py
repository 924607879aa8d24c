"""The programs, compiled and run here."""

import json
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks import programs
from benchmarks.errors import CompileError, NoCompilerError
from benchmarks.programs import Program, Target, compiled
from benchmarks.results import read_results
from benchmarks.suites import SUITES
from tests.servers import ROOT, wait_until

# The cross compiler and the emulator are installed there.
on_x86 = pytest.mark.skipif(
    platform.machine() != "x86_64",
    reason="kernels of the host's own are measured above",
)


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def here(name: str) -> Program:
    return compiled(name, SUITES[name].flags, Target("n1"))


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


def test_memory_is_placed_on_a_numa_node() -> None:
    cpus = len(os.sched_getaffinity(0))
    words = ("3", "0.0005", "widest", f"remote DRAM:1048576@{','.join('0' * cpus)}")
    done = run(here("carm"), *words)
    assert done.returncode == 0, done.stderr
    levels = kernels(done.stdout, "kernel", "level")
    assert ("load", "remote DRAM") in levels
    assert ("streaming-store", "remote DRAM") not in levels


@pytest.mark.parametrize(
    ("nodes", "status", "says"),
    [
        ("1023", 1, "memory cannot be placed on NUMA node 1023"),
        ("1024", 2, "NUMA node: '1024' is not a number from 0 to 1023"),
        ("", 2, "0 NUMA nodes are given for"),
    ],
)
def test_memory_that_cannot_be_placed_is_named(
    nodes: str, status: int, says: str
) -> None:
    each = ",".join([nodes] * len(os.sched_getaffinity(0)))
    done = run(here("carm"), "3", "0.0005", "widest", f"DRAM:1048576@{each}")
    assert done.returncode == status
    assert says in done.stderr


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


def test_machine_without_a_compiler_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(NoCompilerError, match="n1 has no C compiler") as caught:
        here("latency")
    assert caught.value.code == "no-compiler"


def test_compiler_may_have_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "gcc -g0")
    assert "gcc" in here("latency").compiler


def test_compiler_that_is_not_a_program_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CC", "/no/such -m64")
    with pytest.raises(NoCompilerError, match="'/no/such -m64', which is not a") as is_:
        here("latency")
    assert is_.value.code == "no-compiler"


@pytest.mark.parametrize("other", ["true", "false", "gcc -c"])
def test_compiler_that_makes_no_program_is_named(
    other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", other)
    with pytest.raises(CompileError, match=f"n1: {other} made no program: ") as caught:
        here("latency")
    assert caught.value.code == "compile-failed"
    assert not [*Path(os.environ["XDG_CACHE_HOME"]).rglob("latency.*")]


@pytest.mark.parametrize("cache", ["", "/proc/none", "/etc/hostname"])
def test_folder_that_cannot_be_written_is_named(
    cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    with pytest.raises(CompileError, match=f"{cache}.*: set XDG_CACHE_HOME") as caught:
        here("latency")
    assert caught.value.code == "compile-failed"


def test_compiler_that_does_not_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nwhile :; do sleep 0.1; done\n")
    slow.chmod(0o755)
    monkeypatch.setenv("CC", str(slow))
    monkeypatch.setattr(programs, "_SECONDS", 1.0)
    with pytest.raises(CompileError, match="did not end within 1 s"):
        here("latency")
    wait_until(lambda: not running(str(slow)))


def running(word: str) -> list[bytes]:
    """The command lines that have a word."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(path.read_bytes())
    return [line for line in lines if word.encode() in line]


def test_compiler_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CompileError, match="no-such-flag") as caught:
        compiled("latency", ["--no-such-flag"], Target("n1"))
    assert caught.value.code == "compile-failed"
    assert not [*Path(os.environ["XDG_CACHE_HOME"]).rglob("latency.*")]


@pytest.fixture(scope="module")
def carm_for_arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the roofline's program for AArch64, with all libraries."""
    built = tmp_path_factory.mktemp("arm") / "carm"
    source = ROOT / "benchmarks/kernels/carm.c"
    flags = ("-O2", "-std=gnu11", "-pthread", "-static", "-Wall", "-Wextra", "-Werror")
    subprocess.run(["aarch64-linux-gnu-gcc", *flags, source, "-o", built], check=True)
    return built


@on_x86
@pytest.mark.parametrize(
    ("function", "instruction", "count"),
    [
        ("nadd_ps", r"fadd\s+v\d+\.4s", 24),
        ("nfma_pd", r"fmla\s+v\d+\.2d", 24),
        ("vadd_pd", r"fadd\s+z\d+\.d", 24),
        ("vfma_ps", r"fmla\s+z\d+\.s", 24),
        ("load_n", r"ldr\s+q\d+", 12),
        ("store_v", r"str\s+z\d+", 12),
        ("mix_v", r"ldr\s+z\d+", 8),
    ],
)
def test_kernels_for_arm_have_the_instructions_that_are_counted(
    carm_for_arm: Path, function: str, instruction: str, count: int
) -> None:
    command = ["aarch64-linux-gnu-objdump", "-d", f"--disassemble={function}"]
    done = subprocess.run(
        [*command, carm_for_arm], capture_output=True, text=True, check=True
    )
    assert len(re.findall(instruction, done.stdout)) == count


def run_for_arm(program: Path, cpu: str) -> list[dict[str, Any]]:
    command = ["qemu-aarch64", "-cpu", cpu, program, "1", "0.0001", "all", "L1:16384"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@on_x86
@pytest.mark.parametrize(("bits", "flops"), [(128, 48 * 4), (512, 48 * 16)])
def test_kernels_for_sve_run_with_any_length_of_vectors(
    carm_for_arm: Path, bits: int, flops: int
) -> None:
    cpu = f"max,sve{bits}=on,sve-max-vq={bits // 128}"
    found = run_for_arm(carm_for_arm, cpu)
    sve = [one for one in found if one["isa"] == "sve"]
    kernels = {"add", "fma", "load", "store", "2-loads-1-store"}
    assert {one["kernel"] for one in sve} == kernels
    fused = next(one for one in sve if one["kernel"] == "fma")
    assert fused["precision"] == "single"
    assert fused["work"] % (flops * fused["threads"]) == 0
    lengths = {one["bytes"] for one in sve if "bytes" in one}
    step = 12 * bits // 8
    assert lengths == {16384 // step * step}


@on_x86
def test_processor_without_sve_runs_the_other_kernels(carm_for_arm: Path) -> None:
    found = run_for_arm(carm_for_arm, "cortex-a72")
    assert {one["isa"] for one in found} == {"scalar", "neon"}
