"""A PMCD and a graph store of the tests' own."""

from collections.abc import Iterator

import pytest

from ingest.load.publish import Store
from queries.endpoint import Endpoint
from tests.servers import Fuseki, Pmcd


@pytest.fixture(scope="session")
def pmcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running PMCD."""
    # Unix sockets allow 108 characters, which pytest's folders may exceed.
    with Pmcd(tmp_path_factory.mktemp("p")) as server:
        yield server.address


@pytest.fixture(scope="session")
def fuseki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a running Fuseki."""
    with Fuseki(tmp_path_factory.mktemp("fuseki")) as server:
        yield server.url


@pytest.fixture
def store(fuseki: str) -> Iterator[Store]:
    """Both datasets, emptied."""
    with Endpoint(f"{fuseki}/twin") as twin, Endpoint(f"{fuseki}/history") as history:
        for dataset in (twin, history):
            dataset.update("DROP ALL")
        yield Store(twin, history)
