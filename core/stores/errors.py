"""What can go wrong with the graph store.

QueriesError                 also the root of what is wrong with saved queries
└── EndpointError            the graph store gave no usable answer
    ├── EndpointUnreachableError
    ├── AccountRefusedError  the store asks for another user or password
    ├── EndpointTimeoutError
    ├── QuerySyntaxError     the store could not parse the query or the update
    ├── UpdateRefusedError   the store did not carry out a write
    ├── TooLargeError        the answer has more bytes than allowed
    └── CutShortError        the answer ended before it was complete
"""


class QueriesError(Exception):
    """Root of what can go wrong with queries; its text is one line with the cure."""


class EndpointError(QueriesError):
    """The graph store answered with something that is no answer."""


class EndpointUnreachableError(EndpointError):
    """Nothing answers at the address of the graph store."""


class AccountRefusedError(EndpointError):
    """The graph store does not let this user in, or not with this password."""


class EndpointTimeoutError(EndpointError):
    """The graph store did not finish in the time it was given."""


class QuerySyntaxError(EndpointError):
    """The graph store could not parse what it was sent."""


class UpdateRefusedError(EndpointError):
    """The graph store refused to write."""


class TooLargeError(EndpointError):
    """The answer of the graph store is larger than the client takes."""


class CutShortError(EndpointError):
    """The answer of the graph store ended before it was complete."""
