"""Turns errors of changes into answers to a request."""

from collections.abc import Iterator
from contextlib import contextmanager

from core.errors import ApiError, SuperTwinError, error_code
from core.stores.errors import QuerySyntaxError


@contextmanager
def answered(refused: str, failed: str, conflict: int | None = None) -> Iterator[None]:
    """Convert exceptions raised inside into an ApiError with the same code.

    Those with a status below 500 have the title ``refused``, and the status
    ``conflict`` if it is given; the others have the title ``failed``.
    """
    try:
        yield
    except QuerySyntaxError as error:  # in a query of ours, which no client can fix
        raise ApiError(502, error.code, failed, str(error)) from None
    except ApiError:
        raise
    except SuperTwinError as error:
        is_refused = error.status < 500
        title, status = (refused, conflict) if is_refused else (failed, None)
        status = status or error.status
        raise ApiError(status, error.code, title, str(error)) from None
    except OSError as error:  # the state folder's disk is full or read-only
        detail = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise ApiError(502, error_code(error), failed, detail) from None
