"""Errors of saved queries.

QueriesError                in core.stores.errors
├── CatalogueError          a ``.rq`` file, or the folder, is wrong
├── UnknownQueryError       no saved query has this name
├── ParameterError          a value does not fit its parameter
├── UnknownHostError        no host has this name
│   └── HostNeededError     a host must be named
├── AmbiguousHostError      several hosts have it
└── EndpointError           in core.stores.errors
"""

from core.stores.errors import QueriesError


class CatalogueError(QueriesError):
    """A saved query that cannot be loaded."""

    code = "bad-saved-query"


class UnknownQueryError(QueriesError):
    """No saved query has this name."""

    code = "unknown-query"
    status = 404


class ParameterError(QueriesError):
    """A parameter is unknown or given twice, or its value does not fit.

    ``problem`` is the text without the name of the parameter.
    """

    code = "bad-parameter"
    status = 400

    def __init__(self, problem: str, parameter: str = "") -> None:
        super().__init__(f"parameter {parameter}: {problem}" if parameter else problem)
        self.problem = problem


class UnknownHostError(QueriesError):
    """No host has this name."""

    code = "unknown-host"
    status = 404


class HostNeededError(UnknownHostError):
    """Name a host."""

    code = "host-needed"
    status = 400


class AmbiguousHostError(QueriesError):
    """Several hosts have this name."""

    code = "several-hosts"
    status = 409
