"""What can go wrong with a saved query.

QueriesError                in core.stores.errors
├── CatalogueError          a ``.rq`` file, or the folder, is wrong
├── UnknownQueryError       no saved query has this name
├── ParameterError          a value does not fit its parameter
├── UnknownHostError        no host has this name
├── AmbiguousHostError      several hosts have it
└── EndpointError           in core.stores.errors
"""

from core.stores.errors import QueriesError


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
