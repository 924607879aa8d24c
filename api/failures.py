"""What goes wrong while something is changed, as the answer to a request."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from api.problems import ApiError
from ingest.errors import IngestError, PlanRequestError
from observations.errors import ObservationError, TakenError
from queries.errors import EndpointError, EndpointUnreachableError, ParameterError
from supertwin.errors import MendableError, SuperTwinError


@contextmanager
def answered(
    refused: Callable[[str, int], ApiError], kind: str, title: str
) -> Iterator[None]:
    """Make an ApiError of what is raised inside.

    What the client can mend is ``refused``, with 400, or 409 where it is taken; all
    else is 502, or 503 where the graph store is away, of this kind and title.
    """
    try:
        yield
    except TakenError as error:
        raise refused(str(error), 409) from None
    except (PlanRequestError, ParameterError, MendableError) as error:
        raise refused(str(error), 400) from None
    except (EndpointError, IngestError, ObservationError, SuperTwinError) as error:
        status = 503 if isinstance(error, EndpointUnreachableError) else 502
        raise ApiError(status, kind, title, str(error)) from None
