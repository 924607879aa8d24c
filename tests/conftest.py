"""A graph store for all tests that empty it first, and a command line before it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import Fuseki


@pytest.fixture(scope="session")
def fuseki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuseki]:
    """A running Fuseki, with what the tests before left there."""
    with Fuseki(tmp_path_factory.mktemp("fuseki")) as server:
        yield server


@pytest.fixture
def before_fuseki(
    fuseki: Fuseki, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Fuseki:
    """Empty datasets, and an environment in which `supertwin` finds nothing else."""
    fuseki.empty()
    for name in [name for name in os.environ if name.startswith("SUPERTWIN_")]:
        monkeypatch.delenv(name)
    for name, value in fuseki.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    return fuseki
