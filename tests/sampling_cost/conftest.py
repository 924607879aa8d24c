from collections.abc import Iterator

import pytest

from tests.servers import Pmcd


@pytest.fixture(scope="session")
def pmcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pmcd]:
    """A PMCD for all tests that leave it running."""
    with Pmcd(tmp_path_factory.mktemp("pmcd"), sample=True) as server:
        yield server
