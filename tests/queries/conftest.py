"""The Fuseki that the tests of this folder share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from queries.endpoint import Endpoint
from tests.queries.fuseki import running_fuseki


@pytest.fixture(scope="session")
def fuseki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a running Fuseki."""
    folder: Path = tmp_path_factory.mktemp("fuseki")
    with running_fuseki(folder) as url:
        yield url


@pytest.fixture
def endpoint(fuseki: str) -> Iterator[Endpoint]:
    """The dataset ``twin`` of the running Fuseki, emptied."""
    with Endpoint(f"{fuseki}/twin") as twin:
        twin.update("DROP ALL")
        yield twin
