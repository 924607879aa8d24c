"""`supertwin bench` on a host that ssh reaches, and through a real Slurm."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.live_files import entries_below
from tests.observed import commanding, states
from tests.servers import ROOT, wait_until
from tests.slurm import Slurm
from tests.sshd import USER, Sshd
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="an sshd needs root")

STREAM = ("bench", "stream", "--quick", "--threads", "1")


@pytest.fixture
def remote(near: Stack, there: Sshd) -> Iterator[Stack]:
    """The stack, with a host of its fleet that is reached by ssh."""
    near.run("add", there.url(), "--host", "node9")
    yield near
    assert not left_by(there)


def left_by(host: Sshd) -> list[str]:
    """Return the files in the homes of a host, and processes in no login."""
    homes = (host.folder / "root", host.folder / "home")
    files = [str(path) for home in homes for path in entries_below(home)]
    commands = [command(pid) for pid in host.processes()]
    return files + [text for text in commands if ".supertwin-bench" in text]


def command(pid: int) -> str:
    """Return a process's command; empty if the process has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode()
    return ""


def kernels(stack: Stack, host: str) -> set[str]:
    answer = stack.get("/queries/benchmarks/results.json", host=host, suite="stream")
    return {row["kernel"]["value"] for row in answer.json()["results"]["bindings"]}


@as_root
def test_remote_host_is_measured_by_ssh(remote: Stack) -> None:
    done = remote.run(*STREAM, "--host", "node9")
    assert re.search(r"triad, .* GB/s", done.stdout)
    assert kernels(remote, "node9") == {"copy", "scale", "add", "triad"}
    answer = remote.get("/queries/observations/runs.json", host="node9").json()
    assert answer["results"]["bindings"]


@as_root
def test_interrupt_leaves_nothing_on_the_host(remote: Stack, there: Sshd) -> None:
    words = ("bench", "carm", "--threads", "1", "--host", "node9")
    with commanding(remote, *words) as process:
        wait_until(lambda: any("/carm\0" in text for text in left_by(there)))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    wait_until(lambda: not left_by(there), what="nothing is left")


@as_root
@pytest.mark.parametrize(
    ("variables", "full", "user", "code"),
    [
        ("CC=no-such-compiler", (), "root", "no-compiler"),
        ("", ("/dev/shm",), USER, "disk-full"),
    ],
)
def test_host_that_cannot_compile_is_named(
    stack: Stack, variables: str, full: tuple[str, ...], user: str, code: str
) -> None:
    path = f"SetEnv PATH=/usr/bin:/bin {variables}"
    with Sshd(path, over=pmcd(stack), full=full) as host:
        config = stack.home / "ssh_config"
        config.write_text(host.config.read_text())
        try:
            stack.run("add", host.url(user), "--host", "node8")
            done = stack.run(*STREAM, "--host", "node8", check=False)
        finally:
            stack.run("remove", "node8", "--history", "--yes", check=False)
            config.unlink()
        assert done.stderr.rstrip().endswith(f"[{code}]"), done.stderr
        assert "node8" in done.stderr.splitlines()[-1]
        assert not left_by(host)


def pmcd(stack: Stack) -> dict[str, str]:
    """The stack's PMCD takes the place of the host's."""
    return {"/run/pcp": str(stack.home / "pmcd/run")}


def by_slurm(stack: Stack, slurm: Slurm, home: Path, *words: str) -> tuple[int, str]:
    own = {**stack.env, **slurm.env, "HOME": str(home)}
    done = Stack(stack.home, own).run(*STREAM, *words, check=False)
    return done.returncode, done.stdout + done.stderr


def test_slurm_starts_a_benchmark(stack: Stack, slurm: Slurm, tmp_path: Path) -> None:
    status, printed = by_slurm(stack, slurm, tmp_path, "--srun", "-p test")
    assert status == 0, printed
    assert "triad" in printed
    assert kernels(stack, HOST) >= {"copy", "scale", "add", "triad"}
    assert not [*tmp_path.iterdir()]
    states = slurm.output_of("squeue", "-h", "-o", "%T")
    assert not states


def test_interrupt_ends_all_suites(stack: Stack, slurm: Slurm, tmp_path: Path) -> None:
    own = {**stack.env, **slurm.env, "HOME": str(tmp_path)}
    words = ("bench", "quick", "--threads", "1", "--srun", "-p test")
    with commanding(stack, *words, env=own) as process:
        wait_until(lambda: "running" in states(stack))
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT, printed
    assert "left out" not in printed
    assert "STREAM" not in printed
    wait_until(lambda: not slurm.output_of("squeue", "-h"), what="the end of the job")


def test_refusal_of_slurm_is_quoted(stack: Stack, slurm: Slurm, tmp_path: Path) -> None:
    status, printed = by_slurm(stack, slurm, tmp_path, "--srun", "-p nowhere")
    assert status != 0
    assert "invalid partition" in printed
    assert printed.rstrip().endswith("[compile-failed]")


@as_root
def test_slurm_starts_a_benchmark_of_a_host_of_the_fleet(
    remote: Stack, slurm: Slurm, tmp_path: Path
) -> None:
    words = ("--host", "node9", "--srun", "-p test")
    status, printed = by_slurm(remote, slurm, tmp_path, *words)
    assert status == 0, printed
    assert kernels(remote, "node9")
    assert not [*tmp_path.iterdir()]


def test_slurm_starts_a_benchmark_of_a_host_without_ssh(
    stack: Stack, slurm: Slurm, tmp_path: Path
) -> None:
    copied = tmp_path / "node7.tar"
    collector = [sys.executable, str(ROOT / "ingest/remote/collect.py")]
    copied.write_bytes(subprocess.run(collector, capture_output=True).stdout)
    stack.run("ingest", "--collected", str(copied), "--host", "node7")
    words = ("--host", "node7", "--srun", "-p test")
    status, printed = by_slurm(stack, slurm, tmp_path, *words)
    found = kernels(stack, "node7")
    stack.run("remove", "node7", "--history", "--yes", check=False)
    assert (status, found) == (0, {"copy", "scale", "add", "triad"}), printed
