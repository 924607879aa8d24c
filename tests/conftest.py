"""A graph store for all tests that empty it first, and a command line before it."""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import httpx
import pytest

from tests.servers import Fuseki

# Every client reads the authorities of the whole world: 20 ms, thousands of times here,
# where almost nobody speaks TLS. Read once, they are the same.
_transport = httpx._transports.default
_transport.create_ssl_context = cache(_transport.create_ssl_context)  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def shared_fuseki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuseki]:
    """One Fuseki for all: starting another takes seconds of CPU."""
    with Fuseki(tmp_path_factory.mktemp("fuseki")) as server:
        yield server


@pytest.fixture(scope="session")
def fuseki(shared_fuseki: Fuseki) -> Fuseki:
    """A running Fuseki, with what the tests before left there."""
    return shared_fuseki


@pytest.fixture(scope="module")
def emptied_fuseki(shared_fuseki: Fuseki) -> Fuseki:
    """Empty datasets, which a module may fill for all of its tests."""
    shared_fuseki.empty()
    return shared_fuseki


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
