"""Stored requests that are refused, wherever they are read."""

import pytest

from observations.environment import is_secret
from observations.stored_request import without_values
from tests.bad_requests import BAD_REQUESTS


@pytest.mark.parametrize("text", BAD_REQUESTS, ids=lambda text: repr(text[:40]))
def test_invalid_request_is_refused_in_one_line(text: bytes) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        without_values(text, is_secret)
    assert "\n" not in str(refused.value)


def test_unknown_members_are_dropped() -> None:
    request = b'{"argv": ["true"], "timeout": null, "more": [1]}'
    found = without_values(request, is_secret)
    assert found == {"argv": ["true"], "timeout": None}
