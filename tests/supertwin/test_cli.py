"""What goes wrong at the command line is one line and the right exit status."""

import errno
import os
from pathlib import Path

import click
import pytest

from ingest.errors import HostNameError, NotConformingError
from queries.errors import EndpointUnreachableError, ParameterError
from supertwin.cli.ingest import write_whole
from supertwin.errors import MendableError, StartError
from supertwin.report import error_lines, exit_code
from tests.command_line import run_by_itself as run


def full_disk() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/twin/file")


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (MendableError("mend it"), 2, "mend it"),
        (StartError("fuseki died"), 1, "fuseki died"),
        (HostNameError("no\nname"), 2, "no name"),
        (ParameterError("--cpu zero"), 2, "--cpu zero"),
        (EndpointUnreachableError("nobody"), 1, "nobody"),
        (full_disk(), 1, "the disk is full (/twin/file): free some"),
        (PermissionError(13, "Permission denied", "/a"), 1, "/a: Permission denied"),
    ],
)
def test_errors_have_a_line_and_a_status(
    error: Exception, status: int, line: str
) -> None:
    assert error_lines(error) == [line]
    assert exit_code(error) == status


def test_a_refused_graph_shows_the_report() -> None:
    error = NotConformingError("n1", ["a has no b", "c has two d"])
    assert error_lines(error)[1:] == ["  a has no b", "  c has two d"]
    assert exit_code(error) == 2


def test_what_nobody_foresaw_says_where_to_look() -> None:
    (line,) = error_lines(KeyError("x"))
    assert line.startswith("KeyError: 'x': a fault in SuperTwin")
    assert exit_code(KeyError("x")) == 1


@pytest.mark.parametrize(
    "words", [["nonsense"], ["status", "--nonsense"], ["query", "no/such"], ["query"]]
)
def test_a_wrong_command_is_one_line(env: dict[str, str], words: list[str]) -> None:
    done = run(env, *words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    if words != ["query"]:
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "words", [["ingest", "--probe", "x.json"], ["export", "dtdl"], ["add", "local"]]
)
def test_a_host_without_a_name(env: dict[str, str], words: list[str]) -> None:
    done = run(env, *words, "--host", "")
    assert done.returncode == 2
    assert done.stderr.startswith("supertwin: host name '' cannot be used")


def test_status_of_nothing(env: dict[str, str]) -> None:
    done = run(env, "status")
    assert (done.returncode, done.stdout) == (1, "nothing is running\n")
    assert run(env, "status", "--json").stdout == "null\n"
    assert not Path(env["SUPERTWIN_HOME"]).exists()


def test_every_command_is_in_the_help(env: dict[str, str]) -> None:
    text = run(env, "--help").stdout
    for name in ("up", "down", "status", "probe", "ingest", "query", "docs"):
        assert f"\n  {name} " in text


def test_out_leaves_devices_and_links_alone(tmp_path: Path) -> None:
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "text")
    assert os.read(reader, 10) == b"text"
    assert pipe.is_fifo()
    os.close(reader)
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, "new")
    assert (link.is_symlink(), target.read_text()) == (True, "new")
    with pytest.raises(click.UsageError, match="folder that exists"):
        write_whole(tmp_path / "no" / "file", "text")
    with pytest.raises(click.UsageError, match="folder that exists"):
        write_whole(tmp_path, "text")
    longest = tmp_path / ("n" * 255)
    write_whole(longest, "text")
    assert longest.read_text() == "text"
    with pytest.raises(OSError, match="No such file") as caught:
        write_whole(Path("/proc/text"), "text")
    assert caught.value.filename == "/proc/text"
