"""Which accounts may write to the graph store, and where no password may appear."""

import json
import os
import stat
from pathlib import Path

import httpx
import pytest

from core.settings.accounts import (
    fuseki_account,
    make_account,
    store_read_account,
    store_write_account,
)
from core.settings.setting import SettingsError
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from core.stores.errors import AccountRefusedError
from tests.command_line import run
from tests.live_files import contents
from tests.supertwin.conftest import Servers

SECRET = "s3cret-Pa55"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/twin/update"),
        ("POST", "/history/update"),
        ("PUT", "/twin/data?graph=urn:x"),
        ("DELETE", "/twin/data?graph=urn:x"),
        ("GET", "/twin/data?default"),
        ("POST", "/twin/sparql"),
        ("POST", "/$/compact/twin"),
        ("GET", "/$/tasks"),
        ("GET", "/$/ping"),
    ],
)
def test_fuseki_refuses_unknown_accounts(
    servers: Servers, method: str, path: str
) -> None:
    url, form = servers.url("FUSEKI") + path, {"update": "DROP ALL", "query": "ASK {}"}
    for auth in (None, ("supertwin", "wrong"), ("other", own_password(servers))):
        assert httpx.request(method, url, data=form, auth=auth).status_code == 401


def own_password(servers: Servers, service: str = "fuseki") -> str:
    return (servers.home / service / "password").read_text().strip()


def test_own_account_is_accepted(servers: Servers) -> None:
    with Endpoint(f"{servers.fuseki}/twin") as twin:
        twin.update("INSERT DATA { GRAPH <urn:a> { <urn:a> <urn:b> 1 } }")
        assert twin.ask("ASK { <urn:a> <urn:b> 1 }")
        assert len(twin.get_graph("urn:a")) == 1


@pytest.mark.parametrize("name", ["fuseki/password", "fuseki/passwd", "store/password"])
def test_password_files_are_private(servers: Servers, name: str) -> None:
    mode = (servers.home / name).stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    assert len(own_password(servers)) >= 32


@pytest.mark.parametrize("service", ["fuseki", "store"])
def test_password_is_in_no_other_file(servers: Servers, service: str) -> None:
    servers.run("query", "inventory/hosts")
    password = own_password(servers, service).encode()
    for path, text in contents(servers.home):
        assert path.name == "password" or password not in text, path
    for child in servers.state["children"].values():
        command = Path(f"/proc/{child['pid']}/cmdline").read_bytes()
        assert password not in command


def test_wrong_password_gives_one_line(servers: Servers) -> None:
    wrong = servers.env | {"SUPERTWIN_FUSEKI_PASSWORD": SECRET}
    done = run(wrong, "query", "inventory/hosts")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "refuses the account (401)" in line
    assert "FUSEKI_PASSWORD" in line
    assert SECRET not in line


def test_every_kind_of_refusal_is_reported(servers: Servers) -> None:
    url = f"{servers.url('FUSEKI')}/twin"
    with Endpoint(url, account=("supertwin", SECRET)) as twin:
        for call in (
            lambda: twin.ask("ASK {}"),
            lambda: twin.update("DROP ALL"),
            lambda: twin.get_graph("urn:a"),
        ):
            with pytest.raises(AccountRefusedError, match="FUSEKI_USER"):
                call()


def test_account_is_removed_from_a_url() -> None:
    settings = Settings(
        fuseki_url=f"http://ada:{SECRET}%40@graph.example:3030/",
        store_write_url=f"https://bob:{SECRET}@store.example/insert/0/prometheus",
    )
    assert settings.fuseki == "http://graph.example:3030"
    assert settings.store_write == "https://store.example/insert/0/prometheus"
    assert fuseki_account(settings) == ("ada", f"{SECRET}@")
    assert store_write_account(settings) == ("bob", SECRET)
    assert SECRET not in repr(settings)
    assert SECRET not in json.dumps(settings.shown())


def test_secrets_are_passed_to_children_not_written_to_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = Settings(fuseki_url="http://x", fuseki_password=SECRET)
    assert not [name for name in settings.shown() if name.endswith("_PASSWORD")]
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    assert Settings() == settings
    assert fuseki_account(Settings()) == ("supertwin", SECRET)


def test_password_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    settings = Settings(fuseki_url="http://x", fuseki_password_file=path)
    with pytest.raises(SettingsError, match=f"FUSEKI_PASSWORD_FILE={path} cannot be"):
        fuseki_account(settings)
    path.write_text(" \n")
    with pytest.raises(SettingsError, match="is empty"):
        fuseki_account(settings)
    path.write_text("n\0ne\n")
    with pytest.raises(SettingsError, match="printable ASCII"):
        fuseki_account(settings)
    path.write_text(f"{SECRET}\n")
    assert fuseki_account(settings) == ("supertwin", SECRET)


def test_invalid_password_file_is_refused_immediately(tmp_path: Path) -> None:
    """A pipe may have no writer, and a device no end."""
    pipe, huge = tmp_path / "pipe", tmp_path / "huge"
    os.mkfifo(pipe)
    huge.write_text("a" * 5000)
    for file in pipe, Path("/dev/zero"), tmp_path, huge:
        with pytest.raises(SettingsError):
            store_read_account(Settings(home=tmp_path, store_password_file=file))


def test_external_store_gets_no_own_password(tmp_path: Path) -> None:
    own = Settings(home=tmp_path)
    account = make_account(own, "store")
    assert store_read_account(own) == store_write_account(own) == account
    settings = Settings(home=tmp_path, store_read_url="http://elsewhere")
    assert store_read_account(settings) is None
    assert store_write_account(settings) == account


def test_external_fuseki_gets_no_own_password(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, fuseki_url="http://elsewhere")
    (tmp_path / "fuseki").mkdir()
    own = Settings(home=tmp_path)
    account = make_account(own, "fuseki")
    assert fuseki_account(own) == account == make_account(own, "fuseki")
    assert fuseki_account(settings) is None


def test_invalid_setting_does_not_show_the_password(env: dict[str, str]) -> None:
    url = f"http://ada lovelace:{SECRET}@graph.example"
    done = run(env | {"SUPERTWIN_FUSEKI_URL": url}, "status")
    assert done.returncode == 2
    assert "SUPERTWIN_FUSEKI_USER" in done.stderr
    bad = {"SUPERTWIN_FUSEKI_URL": f"http://ada:{SECRET}@graph example"}
    wrong = run(env | bad, "status")
    assert wrong.returncode == 2
    assert "SUPERTWIN_FUSEKI_URL" in wrong.stderr
    assert SECRET not in done.stderr + wrong.stderr


def test_password_is_never_readable_by_others(tmp_path: Path) -> None:
    folder = tmp_path / "fuseki"
    folder.mkdir()
    before = os.umask(0)
    try:
        make_account(Settings(home=tmp_path), "fuseki")
    finally:
        os.umask(before)
    assert [path.name for path in folder.iterdir()] == ["password"]
    assert stat.S_IMODE((folder / "password").stat().st_mode) == 0o600
