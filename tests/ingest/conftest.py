"""A PMCD and a graph store for these tests."""

from collections.abc import Iterator

import pytest

from core.stores.endpoint import Endpoint
from ingest.load.publish import TwinStores
from tests.isolation import env
from tests.servers import Fuseki, Pmcd

__all__ = ["env"]


@pytest.fixture(scope="session")
def pmcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running PMCD."""
    # A Unix socket's path has 108 characters at most; pytest's folders may exceed that.
    with Pmcd(tmp_path_factory.mktemp("p")) as server:
        yield server.address


@pytest.fixture
def store(fuseki: Fuseki) -> Iterator[TwinStores]:
    """Both datasets, emptied."""
    fuseki.empty()
    url = fuseki.url
    with Endpoint(f"{url}/twin") as twin, Endpoint(f"{url}/history") as history:
        yield TwinStores(twin, history)
