"""A PMCD of the tests' own."""

from collections.abc import Iterator

import pytest

from tests.servers import Pmcd


@pytest.fixture(scope="session")
def pmcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running PMCD."""
    # Unix sockets allow 108 characters, which pytest's folders may exceed.
    with Pmcd(tmp_path_factory.mktemp("p")) as server:
        yield server.address
