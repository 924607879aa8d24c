"""Fixtures for tests that neither a stack nor settings of the developer may reach."""

import os
from pathlib import Path

import pytest

from tests.stack import environment


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack that the developer runs with settings of their own is left alone."""
    for name in [name for name in os.environ if name.startswith("SUPERTWIN_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """The environment of a stack that nothing has started yet."""
    return environment(tmp_path / "home")
