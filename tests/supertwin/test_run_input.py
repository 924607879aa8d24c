"""Which standard input is passed to a command, and which is refused."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

_ASK = """if True:
    import sys, click
    from supertwin.cli.descriptors import open_closed_descriptors
    from supertwin.cli.run_streams import command_input
    open_closed_descriptors()
    try:
        number = command_input(sys.argv[1] == "near", int(sys.argv[2])).number
        print("nothing" if number is None else sys.stdin.read() or "empty")
    except click.UsageError as error:
        print(error.message)
"""
_FAR, _ONCE = "with --host or --srun", "--repeat and --passes read"


def handed(stdin: int | IO[bytes], place: str = "near", repeat: int = 1) -> str:
    """Return what a command would read, or why its input is refused."""
    words = [sys.executable, "-c", _ASK, place, str(repeat)]
    done = subprocess.run(words, stdin=stdin, capture_output=True, text=True)
    assert not done.stderr
    return done.stdout.strip()


def pipe(text: bytes) -> int:
    read, write = os.pipe()
    os.write(write, text)
    os.close(write)
    return read


@pytest.mark.parametrize("place", ["near", "far"])
def test_empty_input_is_never_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "empty").touch()
    nothing = "empty" if place == "near" else "nothing"
    with (tmp_path / "empty").open("rb") as file:
        assert handed(file, place, 2) == nothing
    assert handed(subprocess.DEVNULL, place, 2) == nothing
    assert handed(pipe(b""), place, 2) == nothing
    ours, theirs = socket.socketpair()
    ours.close()
    assert handed(theirs.fileno(), place, 2) == nothing
    theirs.close()
    shell = ["sh", "-c", '"$@" <&-', "sh", sys.executable, "-c", _ASK, place, "2"]
    assert subprocess.check_output(shell, text=True).strip() == nothing


def test_unsupported_input_is_refused_with_the_fix(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("text")
    with (tmp_path / "input").open("rb") as file:
        assert handed(file, "near", 2) == "text"
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        assert _FAR in handed(file, "far")
    for refused, place, repeat in (_FAR, "far", 1), (_ONCE, "near", 2):
        assert refused in handed(pipe(b"text"), place, repeat)
        ours, theirs = socket.socketpair()
        assert refused in handed(theirs.fileno(), place, repeat)
        ours.close()
        theirs.close()
    assert handed(pipe(b"text")) == "text"


def test_terminal_of_another_session_is_not_read() -> None:
    """Input typed in that terminal belongs to other programs."""
    ours, theirs = os.openpty()
    assert handed(theirs) == handed(theirs, "far") == "nothing"
    os.close(ours)
    os.close(theirs)
