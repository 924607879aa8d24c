"""The run manager of tests that need no stores."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.settings.settings import Settings
from observations.session.run_manager import RunManager
from tests.observations.session.scene import HOST


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[RunManager]:
    """A run manager whose stores do not answer; it ends with all its work."""
    nobody = "http://127.0.0.1:9"
    manager = RunManager(Settings(home=tmp_path, host=HOST, fuseki_url=nobody))
    yield manager
    for session in manager.sessions:
        session.close()
    assert not manager._queues.wait(120)
