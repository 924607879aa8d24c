"""Files of a run that are damaged are not available; they do not cause a fault."""

import os
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from api.access.tokens import TokenRole
from observations.session.repetition import REQUEST
from tests.api.servers import Closed
from tests.bad_requests import BAD_REQUESTS


@pytest.fixture(scope="module")
def admin(opened: Closed) -> str:
    return opened.add("reads-programs", TokenRole.ADMIN)


@pytest.mark.parametrize("text", BAD_REQUESTS, ids=lambda text: repr(text[:40]))
def test_damaged_request_is_not_available(
    opened: Closed, admin: str, text: bytes
) -> None:
    folder = opened.home / "observations" / uuid4().hex
    folder.mkdir(parents=True)
    (folder / REQUEST).write_bytes(text)
    answer = opened.get(f"/observations/{folder.name}/program", admin)
    assert answer.status_code == 404 and "not available" in answer.text


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda _: None])
def test_request_that_is_not_a_file_is_not_available(
    opened: Closed, admin: str, make: Callable[[Path], None]
) -> None:
    folder = opened.home / "observations" / uuid4().hex
    folder.mkdir(parents=True)
    make(folder / REQUEST)
    answer = opened.get(f"/observations/{folder.name}/program", admin)
    assert answer.status_code == 404 and "not available" in answer.text
