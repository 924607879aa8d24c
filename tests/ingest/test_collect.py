"""The collector by itself: where it runs, what it copies, and how it ends."""

import ast
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.hwloc.read import read_hwloc
from ingest.remote import collect
from ingest.remote.bundle import unpacked
from ingest.sources.machine import HERE, Machine

SCRIPT = Path(collect.__file__)


def start(path: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start the collector with a given PATH."""
    return subprocess.Popen(
        [sys.executable, "-ISB", *words, SCRIPT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": str(path)},
    )


def script(folder: Path, name: str, body: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def copied() -> Iterator[bytes]:
    """The collector's output on this machine."""
    with start(Path("/usr/bin")) as process:
        output, complaints = process.communicate(timeout=120)
    assert (process.returncode, complaints) == (0, b"")
    yield output


def test_script_has_python_3_8_syntax() -> None:
    ast.parse(SCRIPT.read_text("utf-8"), feature_version=(3, 8))


def test_script_imports_the_standard_library_only() -> None:
    for node in ast.walk(ast.parse(SCRIPT.read_text("utf-8"))):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_copy_is_a_plain_tar(copied: bytes) -> None:
    with tarfile.open(fileobj=io.BytesIO(copied)) as tar:
        names = tar.getnames()
    assert (names[0], names[-1]) == (collect.FIRST, collect.LAST)
    assert len(names) == len(set(names))
    assert {"root/proc/cpuinfo", "root/proc/sys/kernel/hostname"} <= set(names)
    assert {f"tools/{name}" for name in collect.CALLS} <= set(names)


def test_hwloc_reads_copied_files_like_the_machine(copied: bytes) -> None:
    """Without lstopo's output from there: the files lack what only CPUID tells."""
    live = read_hwloc(HERE)
    with unpacked(io.BytesIO(copied).read1) as copy:
        files_only = Machine(copy.machine.root, copy.machine.tools, {})
        facts = read_hwloc(files_only)
    for cache in (*live["caches"], *facts["caches"]):
        cache["inclusive"] = None
    skipped = {"xml", "info"}
    assert {k: v for k, v in facts.items() if k not in skipped} == {
        k: v for k, v in live.items() if k not in skipped
    }


def test_tool_output_is_bounded_and_failures_have_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "bin"
    script(path, "lshw", "echo '[]'; echo first >&2; echo no luck >&2; exit 3")
    script(path, "lstopo-no-graphics", "echo '<topology/>'")
    script(path, "nvidia-smi", "head -c 70000000 /dev/zero")
    for name in ("cpuid", "dmidecode"):
        script(path, name, "echo x")
    shutil.copy("/usr/bin/head", path)
    with start(path) as process:
        output, _ = process.communicate(timeout=120)
    with unpacked(io.BytesIO(output).read1) as copy:
        outcomes = copy.machine.outcomes or {}
        assert copy.machine.tool("lstopo") == b"<topology/>\n"
    said = outcomes["lshw"].reason
    by_hand = "run `lshw -json -quiet` there by hand"
    assert said == f"lshw failed there with status 3 (no luck): {by_hand}"
    said = outcomes["nvidia-smi"].reason
    by_hand = "run `nvidia-smi -q -x` there by hand"
    assert said == f"nvidia-smi printed more than 64 MiB there: {by_hand}"


def slow(folder: Path) -> tuple[Path, Path]:
    """A PATH on which lshw hangs, and the file that gets the pid of lshw."""
    pid = folder / "pid"
    script(folder / "bin", "lshw", f"echo $$ > {pid}; exec sleep 100")
    return folder / "bin", pid


def wait_for(pid: Path) -> int:
    until = time.monotonic() + 120
    while not (pid.exists() and pid.read_text().strip()):
        assert time.monotonic() < until
        time.sleep(0.01)
    return int(pid.read_text())


def ends(pid: int) -> bool:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_closed_output_ends_the_script_and_its_tools(tmp_path: Path) -> None:
    path, pid = slow(tmp_path)
    with start(path) as process:
        tool = wait_for(pid)
        assert process.stdout
        process.stdout.close()
        assert process.wait(120) == 1
        assert ends(tool)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_the_script_and_its_tools(tmp_path: Path, number: int) -> None:
    path, pid = slow(tmp_path)
    with start(path) as process:
        tool = wait_for(pid)
        process.send_signal(number)
        process.communicate(timeout=120)
        assert process.returncode == 1
        assert ends(tool)


def test_copy_is_not_written_to_a_terminal(tmp_path: Path) -> None:
    leader, follower = os.openpty()
    try:
        words = [sys.executable, str(SCRIPT)]
        done = subprocess.run(words, stdout=follower, timeout=120, check=False)
        output = os.read(leader, 1000).decode()
    finally:
        os.close(leader)
        os.close(follower)
    assert done.returncode == 2
    assert "collect.py > machine.tar" in output


def test_links_are_kept_within_the_copy(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "real").mkdir()
    (folder / "real/value").write_text("1")
    (folder / "link").symlink_to("real")
    (folder / "far").symlink_to("../" * 30 + str(folder / "real").lstrip("/"))
    (folder / "loop").symlink_to("loop")
    (folder / "gone").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        copy = collect.TarCopy(tar, time.monotonic() + 10)
        copy.take(f"{folder}/*")
        copy.take(f"{folder}/*/value")
    with tarfile.open(fileobj=io.BytesIO(out.getvalue())) as tar:
        found = {
            m.name.removeprefix(f"root{folder}/"): m.linkname or m.type.decode()
            for m in tar
        }
    assert found.pop("real/value") == "0"
    assert found == {
        "real": "5",
        "link": "real",
        "far": "real",
        "loop": "loop",
        "gone": "nowhere",
    }


def test_unreadable_files_are_named_and_excess_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x" * 100)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        late = collect.TarCopy(tar, time.monotonic() - 1)
        late.take(f"{tmp_path}/*")
        assert f"it took more than {collect.SECONDS} s" in late.cut
    assert json.dumps(late.unread) == "[]"
