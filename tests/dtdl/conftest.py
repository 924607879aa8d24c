import json
from typing import Any

import pytest

from tests.dtdl.twins import Twin, everything

Document = list[dict[str, Any]]


@pytest.fixture(scope="session")
def odd() -> Twin:
    """A host with one of everything."""
    return everything()


@pytest.fixture
def two(odd: Twin) -> Document:
    """Its document in version 2, to be damaged."""
    found: Document = json.loads(odd.document(2))
    return found


@pytest.fixture
def three(odd: Twin) -> Document:
    """Its document in version 3."""
    found: Document = json.loads(odd.document(3))
    return found
