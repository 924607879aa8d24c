"""Turns errors of changes into answers to a request."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.errors import ApiError, SuperTwinError, UserError
from core.linux.ssh.errors import AddressError, RemoteLoginError, SshMissingError
from core.stores.errors import EndpointError, EndpointUnreachableError
from ingest.errors import IngestError, PlanRequestError
from observations.errors import CpusTakenError, ObservationError
from queries.errors import ParameterError

_MENDABLE = (
    *(PlanRequestError, ParameterError, UserError),
    *(AddressError, SshMissingError),
)
_FAILED = (
    *(EndpointError, IngestError, ObservationError, SuperTwinError),
    RemoteLoginError,
)


@contextmanager
def answered(
    refused: Callable[[str, int], ApiError], kind: str, title: str
) -> Iterator[None]:
    """Convert exceptions raised inside into an ApiError.

    Errors that the user can fix become ``refused`` with 400, or 409 if something is
    taken; others become 502, or 503 if the graph store is down, with this kind and
    title.
    """
    try:
        yield
    except CpusTakenError as error:
        raise refused(str(error), 409) from None
    except _MENDABLE as error:
        raise refused(str(error), 400) from None
    except _FAILED as error:
        status = 503 if isinstance(error, EndpointUnreachableError) else 502
        raise ApiError(status, kind, title, str(error)) from None
    except OSError as error:  # the state folder's disk is full or read-only
        said = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise ApiError(502, kind, title, said) from None
