"""Limits under which the system refuses something to this process."""

import resource
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager


def no_more_files() -> AbstractContextManager[None]:
    """Every attempt to open a file fails with EMFILE."""
    return _limited(resource.RLIMIT_NOFILE, 3)


def no_room_in_files() -> AbstractContextManager[None]:
    """Files cannot grow, as on a full disk."""
    return _limited(resource.RLIMIT_FSIZE, 0)


@contextmanager
def _limited(what: int, most: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(what, (soft, hard))
