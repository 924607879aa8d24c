"""Fuseki and a series store with inputs of several units and periods."""

from collections.abc import Iterator

import pytest

from tests.virtual_telemetry.world import World, running


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running(tmp_path_factory.mktemp("world")) as found:
        yield found
