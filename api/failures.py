"""Turns errors of changes into answers to a request."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.errors import ApiError, SuperTwinError


@contextmanager
def answered(
    refused: Callable[[str, int], ApiError], kind: str, title: str
) -> Iterator[None]:
    """Convert exceptions raised inside into an ApiError.

    Those with a status below 500 become ``refused``; others get this kind and title.
    """
    try:
        yield
    except ApiError:
        raise
    except SuperTwinError as error:
        if error.status < 500:
            raise refused(str(error), error.status) from None
        raise ApiError(error.status, kind, title, str(error)) from None
    except OSError as error:  # the state folder's disk is full or read-only
        detail = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise ApiError(502, kind, title, detail) from None
