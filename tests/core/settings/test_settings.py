"""Settings: documented, and the same in every process of the stack."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from core.settings.settings import Settings
from tests.servers import ROOT

PAGE = ROOT / "docs" / "settings.md"


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_documented(name: str) -> None:
    assert Settings.model_fields[name].description
    assert f"`SUPERTWIN_{name.upper()}`" in PAGE.read_text(encoding="utf-8")


def test_a_child_reads_the_same_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(home=Path("here"), retention="2w", query_timeout=1.5)
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    assert Settings() == settings


def test_the_environment_is_read_where_no_argument_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SUPERTWIN_API_PORT", "8001")
    monkeypatch.setenv("SUPERTWIN_OWNER_PID", "17")
    monkeypatch.setenv("SUPERTWIN_NO_SUCH_SETTING", "x")
    assert (Settings().api_port, Settings().owner_pid) == (8001, 17)
    assert Settings(api_port=8002).api_port == 8002


def test_an_argument_that_is_no_setting_is_refused() -> None:
    with pytest.raises(ValidationError, match="no_such_setting"):
        Settings(no_such_setting=1)  # type: ignore[call-arg]


def test_the_state_is_the_checkout_s_wherever_one_stands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SUPERTWIN_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    assert Settings().home == ROOT / ".state"
    assert Settings(home=Path("state")).home == tmp_path / "state"


def test_an_address_loses_its_last_slash() -> None:
    assert Settings(base="http://twin.example/").base == "http://twin.example"


def test_an_api_for_everyone_is_reached_on_loopback() -> None:
    settings = Settings(bind="0.0.0.0", api_port=8001)
    assert settings.api == "http://127.0.0.1:8001"
    assert settings.fuseki == "http://127.0.0.1:3030"
