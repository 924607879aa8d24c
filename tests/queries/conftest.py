"""The Fuseki that the tests of this folder share."""

from collections.abc import Iterator

import pytest

from queries.endpoint import Endpoint
from tests.servers import Fuseki


@pytest.fixture
def endpoint(fuseki: Fuseki) -> Iterator[Endpoint]:
    """The dataset ``twin`` of the running Fuseki, emptied."""
    with Endpoint(f"{fuseki.url}/twin") as twin:
        twin.update("DROP ALL")
        yield twin
