"""Errors of the stores, for commands and for clients of the API.

QueriesError                     also the root of the errors of saved queries
└── EndpointError                502: the graph store gave no usable answer
    ├── EndpointUnreachableError 503
    │   └── NoFreeConnectionError
    ├── AccountRefusedError      502: the store refuses the user or password
    ├── EndpointTimeoutError     504
    ├── QuerySyntaxError         400: the store cannot parse the query or update
    ├── UpdateRefusedError       502: the store did not carry out a write
    ├── TooLargeError            413: the answer has more bytes than allowed
    ├── IncompleteAnswerError    502: the answer ended before it was complete
    ├── FunctionRefusedError     400: a function is unknown or not allowed
    ├── ServiceRefusedError      400: the query asks another endpoint
    ├── LiteralTooLongError      413: the query makes a literal of over 1 MiB
    ├── TooMuchMemoryError       413: the query was aborted because memory was short
    └── SamplesError             400: a function of samples is used wrongly
        ├── UnknownTelemetryError
        ├── TooManySamplesError  413
        ├── UnitMismatchError    400: values in two units cannot be combined
        ├── VirtualCycleError    400: virtual telemetry is an input of itself
        ├── SeriesRefusedError   502: the series store refuses a request
        └── SeriesAwayError      503: the series store is away
StoreError                       503: the series store gave no usable answer
└── OutOfScopeError              403: the token is limited to a scope
SnapshotKeyError                 the series store refuses its key for snapshots
DeletionKeyError                 409: the series store refuses its key for deletions
DeletionError                    502: a deletion is not complete
"""

from collections.abc import Mapping

from core.errors import (
    USER_CAN_FIX,
    ApiError,
    SeriesError,
    SuperTwinError,
    UserError,
)


class QueriesError(SuperTwinError):
    """Root of the errors about queries; its text is one line with the fix."""

    exit_code = USER_CAN_FIX


class StoreError(ApiError):
    """The series store gave no usable answer."""

    code = "store-away"
    status = 503

    def __init__(self, reason: str) -> None:
        super().__init__(self.status, self.code, self.title, reason)


class OutOfScopeError(StoreError):
    """The token is limited to a scope, and this is not in it."""

    code = "out-of-scope"
    status = 403


class SnapshotKeyError(UserError):
    """VictoriaMetrics refuses the key for snapshots."""

    code = "snapshot-refused"


class DeletionKeyError(UserError):
    """VictoriaMetrics refuses the key for deletions."""

    code = "deletion-refused"
    status = 409


class DeletionError(SuperTwinError):
    """Samples around a deleted span are not back in the series store yet."""

    code = "deletion-incomplete"


class EndpointError(QueriesError, ApiError):
    """The graph store gave no usable answer."""

    status = 502
    code = "graph-store-failed"
    headers: Mapping[str, str] | None = None

    def __init__(self, detail: str) -> None:
        super().__init__(
            self.status, self.code, self.title, detail, headers=self.headers
        )


class EndpointUnreachableError(EndpointError):
    """Nothing answers at the address of the graph store."""

    status, code = 503, "graph-store-away"
    headers = {"Retry-After": "5"}  # noqa: RUF012


class NoFreeConnectionError(EndpointUnreachableError):
    """All connections to the graph store are in use."""

    code = "busy"


class AccountRefusedError(EndpointError):
    """The graph store refuses the user or the password."""

    code = "graph-store-account"


class EndpointTimeoutError(EndpointError):
    """The graph store did not finish in the allowed time."""

    status, code = 504, "query-timeout"


class QuerySyntaxError(EndpointError):
    """The query or the update is not valid SPARQL."""

    status, code = 400, "syntax-error"


class UpdateRefusedError(EndpointError):
    """The graph store refused to write."""

    code = "write-refused"


class TooLargeError(EndpointError):
    """The answer of the graph store is larger than allowed."""

    status, code = 413, "answer-too-large"


class IncompleteAnswerError(EndpointError):
    """The answer of the graph store ended before it was complete."""

    code = "answer-incomplete"


class FunctionRefusedError(EndpointError):
    """A query calls a function that is unknown or not allowed."""

    status, code = 400, "function-refused"


class ServiceRefusedError(EndpointError):
    """A query asks another endpoint."""

    status, code = 400, "service-refused"


class LiteralTooLongError(EndpointError):
    """A query makes too long a text or number, or matches too long a text."""

    status, code = 413, "literal-too-long"


class TooMuchMemoryError(EndpointError):
    """A query was aborted because memory was short and it had used most."""

    status, code = 413, "too-much-memory"


class SamplesError(EndpointError):
    """A query calls a function of samples with arguments that do not fit."""

    status, code = 400, "bad-samples-call"


class UnknownTelemetryError(SamplesError):
    """A query asks for samples of something that is not telemetry of the twin."""

    code = "unknown-telemetry"


class TooManySamplesError(SamplesError):
    """More samples than may be read at once."""

    status, code = 413, "too-many-samples"


class UnitMismatchError(SamplesError):
    """Values in two units cannot be combined, or converted."""

    code = "unit-mismatch"


class VirtualCycleError(SamplesError):
    """Virtual telemetry is an input of itself."""

    code = "virtual-cycle"


class SeriesRefusedError(SamplesError):
    """The series store refuses a request that a query needs."""

    status = 502

    def __init__(self, detail: str) -> None:
        self.code, self.title = SeriesError.code, SeriesError.title
        super().__init__(detail)


class SeriesAwayError(SamplesError):
    """The series store does not answer, or stopped in the middle of an answer."""

    status = 503
    headers = {"Retry-After": "5"}  # noqa: RUF012

    def __init__(self, detail: str) -> None:
        self.code, self.title = StoreError.code, StoreError.title
        super().__init__(detail)


# Those that Fuseki's extension reports, by code.
EXTENSION_ERRORS = {
    kind("").code: kind
    for kind in (
        *(FunctionRefusedError, ServiceRefusedError),
        *(LiteralTooLongError, TooMuchMemoryError),
        *(SamplesError, UnknownTelemetryError, TooManySamplesError),
        *(UnitMismatchError, VirtualCycleError),
        *(SeriesRefusedError, SeriesAwayError),
    )
}
