"""The Fuseki that the tests of this folder share."""

from collections.abc import Iterator

import pytest

from queries.endpoint import Endpoint
from tests.servers import Fuseki


@pytest.fixture(scope="session")
def fuseki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a running Fuseki."""
    with Fuseki(tmp_path_factory.mktemp("fuseki")) as server:
        yield server.url


@pytest.fixture
def endpoint(fuseki: str) -> Iterator[Endpoint]:
    """The dataset ``twin`` of the running Fuseki, emptied."""
    with Endpoint(f"{fuseki}/twin") as twin:
        twin.update("DROP ALL")
        yield twin
