"""Standard input of a command of `supertwin observe`, and its use in a terminal."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.observed import observing, runs, wait_for_line
from tests.servers import ROOT
from tests.stack import Stack

pytestmark = pytest.mark.e2e


def test_each_repetition_reads_the_whole_file(stack: Stack, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("passed over\nread\n")
    with (tmp_path / "input").open("rb") as file:
        os.lseek(file.fileno(), len("passed over\n"), os.SEEK_SET)
        words = ("--repeat", "2", "--", "cat")
        with observing(stack, *words, stdin=file) as process:
            out, error = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "read\nread\n"), error
    assert [how for how, _ in runs(error)] == ["completed", "completed"]


def test_pipe_can_be_read_by_one_run_only(stack: Stack) -> None:
    with observing(stack, "--", "wc", "-c", stdin=subprocess.PIPE) as process:
        out, error = process.communicate("x" * 300_000, timeout=120)
    assert (process.returncode, out) == (0, "300000\n"), error
    words = ("--repeat", "2", "--", "cat")
    with observing(stack, *words, stdin=subprocess.PIPE) as process:
        _, error = process.communicate("x", timeout=120)
    assert process.returncode == 2
    assert "put it into a file" in error


@pytest.mark.parametrize("where", [("--srun", ""), ("--host", "node9")])
def test_unsupported_standard_input_is_refused(
    stack: Stack, where: tuple[str, str]
) -> None:
    with observing(stack, *where, "--", "cat", stdin=subprocess.PIPE) as process:
        _, error = process.communicate("x", timeout=120)
    assert process.returncode == 2
    (line,) = error.splitlines()
    assert "have the command read a file, or add < /dev/null" in line


@pytest.mark.parametrize(
    ("closed", "output"), [("<&-", "0\n"), (">&-", ""), ("2>&-", "0\n")]
)
def test_closed_descriptors_are_like_the_null_device(
    stack: Stack, closed: str, output: str
) -> None:
    words = [sys.executable, "-m", "supertwin", "observe", "--", "wc", "-c"]
    shell = ["sh", "-c", f'"$@" {closed}', "sh", *words]
    done = subprocess.run(
        shell,
        env=stack.env,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, output), done.stderr


@contextmanager
def in_a_terminal(stack: Stack, *words: str) -> Iterator[tuple[int, int]]:
    """Run `supertwin observe WORDS` in a new terminal; return its pid and our end."""
    pid, end = pty.fork()
    if not pid:
        os.chdir(ROOT)
        command = [sys.executable, "-m", "supertwin", "observe", *words]
        os.execve(sys.executable, command, stack.env)
    try:
        yield pid, end
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(end)


def shown(end: int, word: str) -> str:
    """Return what a terminal shows, up to a word."""
    text = ""
    while word not in text:
        text += os.read(end, 4096).decode()
    return text


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_terminal_input_is_read_and_ctrl_z_is_ignored(stack: Stack) -> None:
    script = "echo ready; read -r line; echo got $line"
    with in_a_terminal(stack, "--", "sh", "-c", script) as (_, end):
        shown(end, "ready")
        os.write(end, b"\x1a")
        shown(end, "a run cannot be suspended, it continues; Ctrl-C ends it")
        os.write(end, b"typed\n")
        text = shown(end, "/observation/")
    assert "got typed" in text
    assert "supertwin: completed" in text


def test_stop_signals_are_ignored(stack: Stack) -> None:
    script = "echo ready; sleep 2; echo done"
    with observing(stack, "--", "sh", "-c", script) as process:
        wait_for_line(process, "ready")
        process.send_signal(signal.SIGTSTP)
        wait_for_line(process, "done")
        _, error = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "supertwin: a run cannot be suspended" in error
