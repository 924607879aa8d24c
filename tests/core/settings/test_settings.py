"""Settings: documented, and the same in every process of the stack."""

from pathlib import Path

import pytest

from core.settings.setting import SettingsError
from core.settings.settings import Settings
from tests.servers import ROOT

PAGE = ROOT / "docs" / "settings.md"


@pytest.mark.parametrize("name", Settings.fields)
def test_every_setting_is_documented(name: str) -> None:
    assert Settings.fields[name].description
    assert f"`SUPERTWIN_{name.upper()}`" in PAGE.read_text(encoding="utf-8")


def test_child_reads_the_same_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(home=Path("here"), retention="2w", query_timeout=1.5)
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    assert Settings() == settings


def test_environment_is_read_for_missing_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SUPERTWIN_API_PORT", "8001")
    monkeypatch.setenv("SUPERTWIN_OWNER_PID", "17")
    monkeypatch.setenv("SUPERTWIN_NO_SUCH_SETTING", "x")
    assert (Settings().api_port, Settings().owner_pid) == (8001, 17)
    assert Settings(api_port=8002).api_port == 8002


def test_unknown_setting_is_refused() -> None:
    with pytest.raises(SettingsError, match="no_such_setting"):
        Settings(no_such_setting=1)  # type: ignore[call-arg]


def test_default_state_folder_does_not_depend_on_the_working_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SUPERTWIN_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    assert Settings().home == ROOT / ".state"
    assert Settings(home=Path("state")).home == tmp_path / "state"


def test_address_loses_its_last_slash() -> None:
    assert Settings(base="http://twin.example/").base == "http://twin.example"


def test_api_that_listens_everywhere_is_reached_on_loopback() -> None:
    settings = Settings(bind="0.0.0.0", api_port=8001)
    assert settings.api == "http://127.0.0.1:8001"
    assert settings.fuseki == "http://127.0.0.1:3030"


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("api_port", "0", "not a whole number from 1 to 65535"),
        ("api_port", "80.0", "not a whole number from 1 to 65535"),
        ("cgroup_keep", "-1", "not a whole number from 0 to 100000"),
        ("owner_pid", "", "not a whole number from 1"),
        ("query_timeout", "nan", "not a number from 1 to 86400"),
        ("idle_cpu", "0", "not a number above 0"),
        ("store_memory_percent", "101", "not a number above 0 to 100"),
        ("calibrate", "always", "not one of never, when-idle"),
        ("fuseki_heap", "4 GB", "not like 512m or 4g"),
        ("host", "", "it is empty"),
    ],
)
def test_malformed_value_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, wrong: str
) -> None:
    variable = f"SUPERTWIN_{name.upper()}"
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as raised:
        Settings()
    assert str(raised.value) == f"{variable}={value}: {wrong} (see docs/settings.md)"


def test_all_invalid_settings_are_listed_without_passwords() -> None:
    with pytest.raises(SettingsError) as raised:
        Settings(api_port=0, fuseki_url="http://a:s3cret@x y", idle_seconds=0)
    error_text = str(raised.value)
    assert [name for name in Settings.fields if f"_{name.upper()}=" in error_text] == [
        "api_port",
        "fuseki_url",
        "idle_seconds",
    ]
    assert "s3cret" not in error_text


def test_secret_is_passed_to_children_only() -> None:
    settings = Settings(store_password="s3cret")
    assert settings.environment()["SUPERTWIN_STORE_PASSWORD"] == "s3cret"
    assert "s3cret" not in f"{settings} {vars(settings)} {settings.shown()}"


def test_settings_are_immutable() -> None:
    settings = Settings(api_port=8001)
    with pytest.raises(AttributeError):
        settings.api_port = 8002  # type: ignore[misc]
    assert settings.with_changes(api_port=8002) == Settings(
        api_port=8002, base=settings.base
    )
    assert settings.api_port == 8001
