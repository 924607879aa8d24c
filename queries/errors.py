"""What can go wrong with a saved query or with the graph store.

QueriesError
├── CatalogueError          a ``.rq`` file, or the folder, is wrong
├── UnknownQueryError       no saved query has this name
├── ParameterError          a value does not fit its parameter
├── UnknownHostError        no host has this name
├── AmbiguousHostError      several hosts have it
└── EndpointError           the graph store gave no usable answer
    ├── EndpointUnreachableError
    ├── AccountRefusedError  the store asks for another user or password
    ├── EndpointTimeoutError
    ├── QuerySyntaxError    the store could not parse the query or the update
    ├── UpdateRefusedError  the store did not carry out a write
    ├── TooLargeError       the answer has more bytes than allowed
    └── CutShortError       the answer ended before it was complete
"""


class QueriesError(Exception):
    """Root of all errors of this folder; its text is one line with the cure."""


class CatalogueError(QueriesError):
    """A saved query that cannot be loaded."""


class UnknownQueryError(QueriesError):
    """A name that no saved query has."""


class ParameterError(QueriesError):
    """A parameter that a saved query does not know, or a value that does not fit."""


class UnknownHostError(QueriesError):
    """A name that no host has."""


class AmbiguousHostError(QueriesError):
    """A name that several hosts have."""


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
