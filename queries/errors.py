"""Errors of saved queries.

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
    """No saved query has this name."""


class ParameterError(QueriesError):
    """A parameter that a saved query lacks, or a value that does not fit."""

    status = 400


class UnknownHostError(QueriesError):
    """No host has this name."""


class AmbiguousHostError(QueriesError):
    """Several hosts have this name."""
