"""Which commands a list allows, word for word."""

import os
from pathlib import Path

import pytest

from api.access.command_list import (
    CommandListError,
    parse_command_list,
    read_command_list,
)

TEXT = """
# what may be launched
/usr/bin/true
/usr/bin/sleep *
/usr/bin/likwid-bench -t stream **
"/opt/my apps/it's" 'a  b' "*" $(id)
run
env: OMP_NUM_THREADS OMP_PROC_BIND=close "NOTE=two words"
cwd: /scratch/ "/data/my runs"
env: EMPTY=
  # indented
/usr/bin/x a#b --safe
"""
LIST = parse_command_list(TEXT, "commands.txt")


@pytest.mark.parametrize(
    "argv",
    [
        ["/usr/bin/true"],
        ["/usr/bin/x", "a#b", "--safe"],
        ["/usr/bin/sleep", "5"],
        ["/usr/bin/sleep", ""],
        ["/usr/bin/sleep", "$(reboot); x"],
        ["/usr/bin/likwid-bench", "-t", "stream"],
        ["/usr/bin/likwid-bench", "-t", "stream", "-w", "S0:1kB"],
        ["/opt/my apps/it's", "a  b", "c", "$(id)"],
        ["run"],
    ],
)
def test_listed_commands_are_allowed(argv: list[str]) -> None:
    assert LIST.refusal(argv) == ""


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "no word"),
        ([""], "as a program"),
        (["true"], "'true' is not allowed as a program: commands.txt lists"),
        (["/usr/bin/../bin/true"], "as a program"),
        (["/usr/bin/true "], "as a program"),
        (["./run"], "as a program"),
        (["/usr/bin/x", "a"], "with these words"),
        (["/usr/bin/true", ""], "with these words"),
        (["/usr/bin/sleep"], "with these words"),
        (["/usr/bin/sleep", "1", "2"], "with these words"),
        (["/usr/bin/sleep", "--help"], "with these words"),
        (["/usr/bin/sleep", "1\0"], "null byte"),
        (["/usr/bin/likwid-bench", "-t"], "with these words"),
        (["/usr/bin/likwid-bench", "-t", "copy"], "with these words"),
        (["/opt/my apps/it's", "a b", "c", "$(id)"], "with these words"),
        (["x\n" * 1000], "as a program"),
    ],
)
def test_refusal_is_one_line(argv: list[str], words: str) -> None:
    refusal = LIST.refusal(argv)
    assert words in refusal
    assert "\n" not in refusal and len(refusal) < 300


@pytest.mark.parametrize(
    ("env", "cwd"),
    [
        ({}, ""),
        ({"OMP_NUM_THREADS": "4", "NOTE": "two words", "EMPTY": ""}, ""),
        ({"OMP_PROC_BIND": "close"}, "/scratch"),
        ({}, "/scratch/ana/run 1/"),
        ({}, "/data/my runs"),
    ],
)
def test_listed_variables_and_folders_are_allowed(
    env: dict[str, str], cwd: str
) -> None:
    assert LIST.refusal(["/usr/bin/true"], env, cwd) == ""


@pytest.mark.parametrize(
    ("env", "cwd", "words"),
    [
        ({"LD_PRELOAD": "/tmp/x.so"}, "", "the variable 'LD_PRELOAD' is not allowed:"),
        ({"OMP_NUM_THREADS": "4", "PATH": "/tmp"}, "", "the variable 'PATH' is not"),
        ({"BASH_FUNC_x%%": "() { id; }"}, "", "'BASH_FUNC_x%%' is not allowed:"),
        ({"OMP_PROC_BIND": "false"}, "", "'OMP_PROC_BIND' is not allowed with this"),
        (
            {"OMP_TOOL_LIBRARIES": "/tmp/x.so"},
            "",
            "'OMP_TOOL_LIBRARIES' is not allowed",
        ),
        ({"EMPTY": "full"}, "", "'EMPTY' is not allowed with this value"),
        ({"x\n" * 1000: ""}, "", "is not allowed: commands.txt lists those that are"),
        ({}, "/", "the folder '/' is not allowed: commands.txt lists those that are"),
        ({}, "/scratchy", "the folder '/scratchy' is not allowed"),
        (
            {},
            "/scratch/../etc",
            "the folder '/scratch/../etc', which is '/etc', is not",
        ),
        ({}, "scratch", "the folder 'scratch' is not allowed"),
        ({}, ".", "the folder '.' is not allowed"),
    ],
)
def test_other_variables_and_folders_are_refused(
    env: dict[str, str], cwd: str, words: str
) -> None:
    refusal = LIST.refusal(["/usr/bin/true"], env, cwd)
    assert words in refusal
    assert "\n" not in refusal and len(refusal) < 300


def test_links_in_a_folder_are_followed(tmp_path: Path) -> None:
    (tmp_path / "own" / "run").mkdir(parents=True)
    (tmp_path / "alias").symlink_to(tmp_path / "own")
    (tmp_path / "own" / "out").symlink_to("/etc")
    listed = parse_command_list(f"/usr/bin/true\ncwd: {tmp_path}/alias", "c")
    for inside in ("own", "own/run", "alias/run", "alias/run/..", "own/absent"):
        assert not listed.refusal(["/usr/bin/true"], cwd=f"{tmp_path}/{inside}")
    for outside, path in (("own/out", "/etc"), ("alias/..", tmp_path)):
        wrong = listed.refusal(["/usr/bin/true"], cwd=f"{tmp_path}/{outside}")
        assert f", which is '{path}', is not allowed" in wrong
    # Links of another machine cannot be followed here: its runner does.
    there = f"{tmp_path}/own"
    assert listed.refusal(["/usr/bin/true"], cwd=there, is_here=False)
    assert listed.refusal(["/usr/bin/true"], cwd=f"{there}/..", is_here=False)
    assert not listed.refusal(
        ["/usr/bin/true"], cwd=f"{tmp_path}/alias/x", is_here=False
    )


def test_empty_list_allows_nothing() -> None:
    assert parse_command_list("# none\n\n", "x").refusal(["/usr/bin/true"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\n/usr/bin/x 'a", "line 2: No closing quotation"),
        ("* a", "line 1: it allows every program"),
        ("**", "line 1: it allows every program"),
        ("'' a", "line 1: it allows every program"),
        ("/usr/bin/x ** a", "line 1: ** stands for the rest"),
        ("/usr/bin/x a\0b", "line 1: a null byte"),
        ("/usr/bin/x \\", "line 1: No escaped character"),
        ("env: OMP_*", "line 1: write NAME or NAME=value"),
        ("env: =x", "line 1: write NAME or NAME=value"),
        ("cwd: scratch", "line 1: a folder is a path from /"),
        ("cwd: /scratch/../etc", "line 1: a folder is a path from /"),
    ],
)
def test_invalid_list_is_refused(text: str, words: str) -> None:
    with pytest.raises(CommandListError) as caught:
        parse_command_list(text, "x")
    assert str(caught.value).startswith("x, ") and words in str(caught.value)


def test_list_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "commands"
    path.write_text(TEXT)
    assert read_command_list(path).commands == LIST.commands
    path.write_bytes(b"\xff")
    with pytest.raises(CommandListError, match="is not UTF-8"):
        read_command_list(path)
    path.write_bytes(b"#" * 2_000_000)
    with pytest.raises(CommandListError, match="larger than"):
        read_command_list(path)
    os.mkfifo(tmp_path / "pipe")
    for odd, words in (("none", "does not exist"), ("", "cannot"), ("pipe", "cannot")):
        with pytest.raises(CommandListError, match=words):
            read_command_list(tmp_path / odd)
