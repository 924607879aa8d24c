"""Turns errors of changes into answers to a request."""

from collections.abc import Iterator
from contextlib import contextmanager

from core.errors import (
    DISK_FULL,
    ApiError,
    DiskFullError,
    FileError,
    SuperTwinError,
    api_error,
    error_code,
)
from core.stores.errors import QuerySyntaxError


@contextmanager
def answered(conflict: int | None = None) -> Iterator[None]:
    """Convert exceptions raised inside into an ApiError with the same code.

    If ``conflict`` is given, it replaces statuses below 500.
    """
    try:
        yield
    except QuerySyntaxError as error:  # in a query of ours, which no client can fix
        raise api_error(error, 502) from None
    except ApiError:
        raise
    except SuperTwinError as error:
        raise api_error(error, conflict if error.status < 500 else None) from None
    except OSError as error:  # the state folder's disk is full or read-only
        detail = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        kind = DiskFullError if error_code(error) == DISK_FULL else FileError
        raise api_error(kind(detail), 502) from None
