"""Errors of the graph store.

QueriesError                 also the root of the errors of saved queries
└── EndpointError            the graph store gave no usable answer
    ├── EndpointUnreachableError
    ├── AccountRefusedError  the store refuses the user or password
    ├── EndpointTimeoutError
    ├── QuerySyntaxError     the store could not parse the query or the update
    ├── UpdateRefusedError   the store did not carry out a write
    ├── TooLargeError        the answer has more bytes than allowed
    └── IncompleteAnswerError        the answer ended before it was complete
"""

from core.errors import FAILED, USER_CAN_FIX, SuperTwinError


class QueriesError(SuperTwinError):
    """Root of the errors about queries; its text is one line with the cure."""

    exit_code = USER_CAN_FIX


class EndpointError(QueriesError):
    """The graph store gave no usable answer."""

    code = "graph-store-failed"
    exit_code = FAILED


class EndpointUnreachableError(EndpointError):
    """Nothing answers at the address of the graph store."""

    code = "graph-store-away"
    status = 503


class AccountRefusedError(EndpointError):
    """The graph store refuses the user or the password."""

    code = "graph-store-account"


class EndpointTimeoutError(EndpointError):
    """The graph store did not finish in the allowed time."""

    code = "query-timeout"


class QuerySyntaxError(EndpointError):
    """The graph store could not parse the query or the update."""

    code = "syntax-error"
    exit_code = USER_CAN_FIX


class UpdateRefusedError(EndpointError):
    """The graph store refused to write."""

    code = "write-refused"


class TooLargeError(EndpointError):
    """The answer of the graph store is larger than allowed."""

    code = "answer-too-large"


class IncompleteAnswerError(EndpointError):
    """The answer of the graph store ended before it was complete."""

    code = "answer-incomplete"
