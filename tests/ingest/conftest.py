"""A PMCD and a graph store of the tests' own."""

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
    # Unix sockets allow 108 characters, which pytest's folders may exceed.
    with Pmcd(tmp_path_factory.mktemp("p")) as server:
        yield server.address


@pytest.fixture
def store(fuseki: Fuseki) -> Iterator[TwinStores]:
    """Both datasets, emptied."""
    fuseki.empty()
    url = fuseki.url
    with Endpoint(f"{url}/twin") as twin, Endpoint(f"{url}/history") as history:
        yield TwinStores(twin, history)
