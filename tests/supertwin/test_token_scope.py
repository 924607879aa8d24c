"""Scopes of tokens: how they are given, listed and stored."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from api.access import tokens
from api.access.token_file import TokenFileError
from supertwin.cli.main import main

Run = Callable[..., Result]
ENTRY = {
    **{"id": "0" * 12, "name": "a", "role": "reader", "made": 1, "expires": None},
    "hash": "a" * 64,
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("SUPERTWIN_HOME", str(home))
    return lambda *words: CliRunner().invoke(main, ["token", *words])


def listed(run: Run) -> dict[str, str | None]:
    rows = json.loads(run("list", "--format", "json").stdout)
    return {row["name"]: row["scope"] for row in rows}


def write(home: Path, version: int, *entries: object) -> Path:
    file = tokens.file_of(home)
    file.parent.mkdir(parents=True)
    file.touch(mode=0o600)
    file.write_text(json.dumps({"version": version, "tokens": entries}))
    return file


def test_file_of_an_earlier_release_has_no_scopes(run: Run, home: Path) -> None:
    file = write(home, 2, ENTRY)
    assert listed(run) == {"a": None}
    assert run("add", "b", "--role", "reader", "--host", "n1").exit_code == 0
    stored = json.loads(file.read_text())
    scopes = [entry["scope"] for entry in stored["tokens"]]
    assert (stored["version"], scopes) == (3, [{}, {"hosts": ["n1"]}])


@pytest.mark.parametrize(
    "scope",
    [
        None,
        [],
        {"hosts": []},
        {"hosts": "n1"},
        {"hosts": [1]},
        {"hosts": [""]},
        {"racks": ["r1"]},
        {"metrics": ["*"]},
    ],
)
def test_damaged_scope_admits_nobody(home: Path, scope: object) -> None:
    write(home, 3, ENTRY | {"scope": scope})
    with pytest.raises(TokenFileError):
        tokens.all_tokens(home)


def test_scope_may_not_be_absent(home: Path) -> None:
    write(home, 3, ENTRY)
    with pytest.raises(TokenFileError):
        tokens.all_tokens(home)


def test_scope_is_listed(run: Run, home: Path) -> None:
    words = ("--host", "n1", "--host", "n2", "--job", "4711", "--metric", "mem.*")
    made = run("add", "a", "--role", "operator", *words)
    assert made.exit_code == 0, made.output
    # Reads are open by default, so the limit would not apply to them.
    assert "SUPERTWIN_READ_ACCESS=token" in made.stderr
    assert listed(run)["a"] == "hosts: n1, n2; jobs: 4711; metrics: mem.*"
    assert "SUPERTWIN" not in run("add", "b", "--role", "reader").stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--role", "admin", "--host", "n1"),
        ("--role", "reader", "--host", ""),
        ("--role", "reader", "--host", "n\n1"),
        ("--role", "reader", "--user", " "),
        ("--role", "reader", "--metric", "*"),
        ("--role", "reader", "--metric", "mem*"),
        ("--role", "reader", "--metric", "mem.*.free"),
        ("--role", "reader", "--metric", "mem..free"),
        ("--role", "reader", "--job", "c1/4711"),
        ("--role", "reader", *("--host", "n1") * 101),
    ],
)
def test_bad_scope_makes_no_token(run: Run, home: Path, words: tuple[str, ...]) -> None:
    done = run("add", "a", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "[bad-scope]" in done.stderr and done.stderr.count("\n") == 1
    assert not tokens.file_of(home).exists()
