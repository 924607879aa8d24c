"""Fixtures that isolate tests from the developer's stack and settings."""

import os
from pathlib import Path

import pytest

from tests.stack import environment


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the developer's settings, so that tests leave their stack alone."""
    for name in [name for name in os.environ if name.startswith("SUPERTWIN_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a stack that has not been started."""
    return environment(tmp_path / "home")
