"""`supertwin token`, and the file that it writes."""

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from api.access import tokens
from api.access.token_file import TokenFileError
from api.access.tokens import AccessToken, TokenRole
from supertwin.cli.main import main

Run = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("SUPERTWIN_HOME", str(home))

    def run(*words: str, given: str = "") -> Result:
        return CliRunner().invoke(main, ["token", *words], input=given)

    return run


def listed(run: Run) -> dict[str, dict[str, str]]:
    rows = json.loads(run("list", "--format", "json").stdout)
    return {row.pop("name"): row for row in rows}


def test_only_the_token_is_printed_and_it_is_not_stored(run: Run, home: Path) -> None:
    done = run("add", "ci", "--role", "operator", "--expires", "30d")
    assert done.exit_code == 0, done.output
    token = done.stdout.removesuffix("\n")
    assert tokens.parse_token(token)
    assert "ci is operator until 20" in done.stderr
    assert token not in done.stderr
    secret = token.rpartition("_")[2]
    for path in home.rglob("*"):
        if path.is_file():
            assert secret not in path.read_text()
    file = tokens.file_of(home)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    (entry,) = json.loads(file.read_text())["tokens"]
    assert entry["hash"].isalnum() and len(entry["hash"]) == 64
    assert entry["expires"] - entry["made"] == 30 * 86400


def test_tokens_are_listed_without_their_secret(run: Run) -> None:
    made = [run("add", name, "--role", name).stdout for name in ("reader", "admin")]
    found = listed(run)
    assert [*found] == ["reader", "admin"]
    assert found["admin"]["role"] == "admin"
    assert found["admin"]["expires"] is None and found["admin"]["used"] is None
    table = run("list").stdout
    assert "(2 rows)" in table
    for token in made:
        assert token.strip() not in table
        assert token.split("_")[1] not in table


def test_arguments_of_a_token_are_checked(run: Run) -> None:
    token = run("add", "ci", "--role", "reader", "--expires", "12h").stdout
    good = run("check", given=token)
    assert (good.exit_code, good.stdout[:12]) == (0, "ci is reader")
    last = token.strip()[-1]
    for text, code in (
        (token.strip()[:-1] + ("0" if last != "0" else "1"), "token-refused"),
        (f"supertwin_{'0' * 12}_{'0' * 64}", "token-refused"),
        ("", "bad-token"),
        ("a" * 100_000, "bad-token"),
        (token.strip().upper(), "bad-token"),
    ):
        bad = run("check", given=text)
        assert (bad.exit_code, bad.stdout) == (2, "")
        assert f"[{code}]\n" in bad.stderr and bad.stderr.count("\n") == 1
    assert run("revoke", "ci").stdout == "ci is revoked\n"
    assert "[token-refused]" in run("check", given=token).stderr
    assert listed(run) == {}


REFUSED = [
    (("add", "ci", "--role", "reader"), "[token-exists]"),
    (("add", "a b", "--role", "reader"), "[bad-token]"),
    (("add", "", "--role", "reader"), "[bad-token]"),
    (("add", "x" * 65, "--role", "reader"), "[bad-token]"),
    (("add", "zwölf", "--role", "reader"), "[bad-token]"),
    (("add", "x\ny", "--role", "reader"), "[bad-token]"),
    (("add", "x", "--role", "king"), "'king' is not one of"),
    (("add", "x"), "--role"),
    (("add", "x", "--role", "reader", "--expires", "0d"), "'0d' is not a valid time"),
    (
        ("add", "x", "--role", "reader", "--expires", "soon"),
        "'soon' is not a valid time",
    ),
    (("add", "x", "--role", "reader", "--expires", ""), "'' is not a valid time"),
    (("add", "x", "--role", "reader", "--expires", "-1d"), "'-1d' is not a valid time"),
    (
        ("add", "x", "--role", "reader", "--expires", "999999999y"),
        "is not a valid time",
    ),
    (("revoke", "cy"), "[unknown-token]"),
    (("revoke", "no\nne"), "[unknown-token]"),
]


def test_each_refusal_is_one_line_and_changes_nothing(run: Run, home: Path) -> None:
    run("add", "ci", "--role", "reader")
    before = tokens.file_of(home).read_bytes()
    for words, reason in REFUSED:
        done = run(*words)
        assert (done.exit_code, done.stdout) == (2, ""), (words, done.output)
        assert reason in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert tokens.file_of(home).read_bytes() == before


HASH = "a" * 64
ENTRY = {"id": "0" * 12, "name": "a", "role": "admin", "made": 1, "expires": None}
OF_VERSION_1 = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2Fs$" + "A" * 43


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "\0",
        "[" * 100_000,
        '{"version": 1, "tokens": []}',
        '{"version": 2, "tokens": {}}',
        '{"version": 2, "tokens": [1]}',
        *(
            json.dumps({"version": 2, "tokens": entries})
            for entries in (
                [ENTRY],
                [ENTRY | {"hash": "x"}],
                [ENTRY | {"hash": OF_VERSION_1}],
                [ENTRY | {"hash": HASH, "role": "root"}],
                [ENTRY | {"hash": HASH, "id": "../../x"}],
                [ENTRY | {"hash": HASH, "expires": "never"}],
                [ENTRY | {"hash": HASH, "expires": 1e99}],
                [ENTRY | {"hash": HASH, "made": True}],
                [ENTRY | {"hash": HASH, "more": 1}],
                [ENTRY | {"hash": HASH}, ENTRY | {"hash": HASH, "name": "b"}],
            )
        ),
    ],
)
def test_damaged_token_file_is_refused(run: Run, home: Path, text: str) -> None:
    file = tokens.file_of(home)
    file.parent.mkdir(parents=True)
    file.touch(mode=0o600)
    file.write_text(text)
    for words in (("list",), ("add", "x", "--role", "reader"), ("revoke", "a")):
        done = run(*words)
        assert (done.exit_code, done.stdout) == (2, "")
        assert str(file) in done.stderr and "[tokens-unreadable]" in done.stderr
        assert done.stderr.count("\n") == 1
    assert file.read_text() == text


def test_token_file_open_to_others_is_not_read(run: Run, home: Path) -> None:
    run("add", "ci", "--role", "reader")
    file = tokens.file_of(home)
    file.chmod(0o640)
    assert f"open to others: `chmod 600 {file}`" in run("list").stderr
    file.chmod(0o600)
    moved = file.rename(home / "elsewhere")
    file.symlink_to(moved)
    assert "cannot be read" in run("list").stderr
    file.unlink()
    os.mkfifo(file, 0o600)
    assert "not a regular file" in run("list").stderr
    file.unlink()
    file.mkdir()
    assert run("list").exit_code == 2
    with pytest.raises(TokenFileError):
        tokens.all_tokens(home)


def test_full_disk_keeps_the_tokens(run: Run, home: Path) -> None:
    run("add", "ci", "--role", "reader")
    before = tokens.file_of(home).read_bytes()
    script = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before)}, {len(before)}))\n"
        "from supertwin.cli.main import main\n"
        "main(['token', 'add', 'second', '--role', 'reader'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and done.stdout == ""
    assert tokens.file_of(home).read_bytes() == before
    assert not list(file_names(home) - {"tokens.json", "tokens.lock"})


def file_names(home: Path) -> set[str]:
    return {path.name for path in tokens.file_of(home).parent.iterdir()}


def test_concurrent_changes_are_all_kept(home: Path) -> None:
    names = [f"t{n}" for n in range(8)]

    def change(name: str) -> None:
        tokens.add_token(home, name, TokenRole.READER, None)
        tokens.add_token(home, f"{name}-gone", TokenRole.READER, None)
        tokens.revoke_token(home, f"{name}-gone")

    threads = [threading.Thread(target=change, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(token.name for token in tokens.all_tokens(home)) == names


def test_roles_include_each_other_in_order() -> None:
    assert [[role.includes(other) for other in TokenRole] for role in TokenRole] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


@pytest.mark.parametrize(
    ("now", "words"),
    [(1000, ""), (1999.9, ""), (2000, "expired at 1970-01-01T00:33:20Z"), (1e12, "ex")],
)
def test_token_expires(now: float, words: str) -> None:
    token = AccessToken("0" * 12, "ci", TokenRole.READER, 1000, 2000, HASH)
    assert words in token.refusal(now) and bool(words) == bool(token.refusal(now))


def test_clock_set_back_revives_no_token() -> None:
    """Otherwise a token would last longer by as much as the clock is set back."""
    token = AccessToken("0" * 12, "ci", TokenRole.READER, 1000, 2000, HASH)
    assert "set the clock" in token.refusal(500)
    endless = AccessToken("0" * 12, "ci", TokenRole.READER, 1000, None, HASH)
    assert endless.refusal(500) == ""


def test_number_of_tokens_is_limited(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "_MOST_TOKENS", 1)
    tokens.add_token(home, "a", TokenRole.READER, None)
    with pytest.raises(tokens.TokenError):
        tokens.add_token(home, "b", TokenRole.READER, None)
