"""An error at the command line is one line with the right exit status."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from core.settings.settings import Settings
from supertwin.cli.out_file import write_whole
from supertwin.cli.summary import web_address
from supertwin.cli.wording import counted
from tests.command_line import run_by_itself as run
from tests.servers import ROOT


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["--nonsense"],
        ["--traceback=1", "status"],
        ["status", "--nonsense"],
        ["query", "no/such"],
        ["query"],
    ],
)
def test_wrong_command_gives_one_line(env: dict[str, str], words: list[str]) -> None:
    done = run(env, *words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    if words != ["query"]:
        assert len(done.stderr.splitlines()) == 1
        assert re.fullmatch(r"supertwin: .* \[[a-z-]+\]\n", done.stderr)


@pytest.mark.parametrize("words", [[], ["query"], ["sample"], ["process"]])
def test_group_without_command_prints_its_help(
    env: dict[str, str], words: list[str]
) -> None:
    lines = run(env, *words).stderr.splitlines()
    command = " ".join(["supertwin", *words])
    assert lines[0].startswith(f"Usage: {command} ")
    assert "Commands:" in lines
    assert lines[-1] == f"supertwin: name a command of `{command}` [bad-usage]"


def test_closed_pipe_is_silent(env: dict[str, str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "supertwin", "catalogue", "pmu", "skx"]
    done = subprocess.run(
        words, env=env, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    ("words", "code"),
    [(["token", "check"], "bad-token"), (["forget", "a"], "bad-usage")],
)
def test_closed_input_is_empty(
    env: dict[str, str], words: list[str], code: str
) -> None:
    done = closing(env, "<&-", *words)
    assert done.returncode == 2
    assert done.stderr.endswith(f" [{code}]\n")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_descriptors_are_not_reused(env: dict[str, str], closed: str) -> None:
    """A file that is opened later must not get the number of a standard descriptor."""
    program = (
        "import os, sys; from supertwin.cli.main import main; "
        "main(['--help'], standalone_mode=False); "
        "found = {os.readlink(f'/proc/self/fd/{n}') for n in range(3)}; "
        "sys.exit(found != {'/dev/null'})"
    )
    shell = ["sh", "-c", f'"$@" {closed}', "sh", sys.executable, "-c", program]
    null = subprocess.DEVNULL
    done = subprocess.run(
        shell, env=env, cwd=ROOT, stdin=null, stdout=null, stderr=null
    )
    assert done.returncode == 0


def closing(
    env: dict[str, str], closed: str, *words: str
) -> subprocess.CompletedProcess[str]:
    """Run `supertwin WORDS` with closed descriptors."""
    shell = ["sh", "-c", f'"$@" {closed}', "sh", sys.executable, "-m", "supertwin"]
    return subprocess.run(
        [*shell, *words], env=env, cwd=ROOT, capture_output=True, text=True
    )


_TEXTS = (
    (["observe"], ("--host", "--pin", "--threads", "--cpus", "--cwd")),
    (
        ["pin"],
        (
            *("--policy", "--threads", "--format", "--ranks"),
            *("--nodes", "--map", "--rank", "--bind"),
        ),
    ),
)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["observe", "--metricss", "a", "sleep", "0"], "No such option '--metricss'"),
        (["observe", "--nonsense", "--", "true"], "No such option '--nonsense'"),
        *(
            ([*words, option, "", "--", "true"], f"'{option}': it is empty: give a")
            for words, options in _TEXTS
            for option in options
        ),
    ],
)
def test_bad_option_is_refused_in_one_line(
    env: dict[str, str], words: list[str], message: str
) -> None:
    done = run(env, *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.endswith(" [bad-usage]\n")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("query", "default"),
    [
        ("cache/sharing", "this host; '' for every host"),
        ("fleet/drift", "every host"),
        ("inventory/hosts", "every host"),
        ("cgroups/of-job", "every host"),
    ],
)
def test_query_help_names_the_default_host(
    env: dict[str, str], query: str, default: str
) -> None:
    text = " ".join(run(env, "query", query, "--help").stdout.split())
    assert f"Host name [default: {default}]" in text


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ({}, "http://localhost:8000"),
        ({"base": "http://127.0.0.1:8000"}, "http://127.0.0.1:8000"),
        ({"base": "https://twin.example"}, "http://127.0.0.1:8000"),
        ({"base": "http://localhost:9000"}, "http://127.0.0.1:8000"),
    ],
)
def test_pages_have_the_origin_of_the_iris(given: dict[str, str], address: str) -> None:
    assert web_address(Settings(**given)) == address


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 ranks"), (1, "1 rank"), (2, "2 ranks")]
)
def test_words_are_pluralised(number: int, text: str) -> None:
    assert counted(number, "rank") == text


@pytest.mark.parametrize(
    "words", [["ingest", "--probe", "x.json"], ["export", "dtdl"], ["add", "local"]]
)
def test_host_name_is_required(env: dict[str, str], words: list[str]) -> None:
    done = run(env, *words, "--host", "")
    assert done.returncode == 2
    assert done.stderr.startswith("supertwin: '' is not a valid host name")


def test_status_without_a_stack(env: dict[str, str]) -> None:
    done = run(env, "status")
    assert (done.returncode, done.stdout) == (1, "nothing is running\n")
    assert run(env, "status", "--json").stdout == "null\n"
    assert not Path(env["SUPERTWIN_HOME"]).exists()


def test_every_command_is_in_the_help(env: dict[str, str]) -> None:
    text = run(env, "--help").stdout
    for name in ("up", "down", "status", "probe", "ingest", "query", "docs"):
        assert f"\n  {name} " in text


def test_writing_to_a_device_or_link_keeps_it(tmp_path: Path) -> None:
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
