from collections.abc import Iterator

import pytest

from tests.stack import Stack, running_stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One stack for all tests that leave it as it was."""
    with running_stack(tmp_path_factory.mktemp("stack")) as stack:
        yield stack
