"""Errors of saved queries.

QueriesError                in core.stores.errors
├── CatalogueError          a ``.rq`` file, or the folder, is wrong
│   └── EndlessParameterError   a parameter without a limit
├── UnknownQueryError       no saved query has this name
│   └── UnknownVersionError     it has no version of this number
├── QueryNameError          a saved query cannot have this name
├── BuiltInQueryError       the query comes with SuperTwin
├── QueryChangedError       another client changed the query
├── ConditionNeededError    a replacement must name what it replaces
├── TooManyQueriesError     the folder of added queries is full
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
    status = 400


class EndlessParameterError(CatalogueError):
    """A parameter of a saved query has no limit, or restricts nothing."""

    code = "endless-parameter"


class UnknownQueryError(QueriesError):
    """No saved query has this name."""

    code = "unknown-query"
    status = 404


class UnknownVersionError(UnknownQueryError):
    """The saved query has no version of this number."""

    code = "unknown-version"


class QueryNameError(QueriesError):
    """A saved query cannot have this name."""

    code = "bad-query-name"
    status = 400


class BuiltInQueryError(QueriesError):
    """A built-in query cannot be replaced or removed."""

    code = "built-in-query"
    status = 409


class QueryChangedError(QueriesError):
    """The saved query is not in the state that the request names."""

    code = "query-changed"
    status = 412


class ConditionNeededError(QueriesError):
    """The saved query exists: name the text that is replaced."""

    code = "condition-needed"
    status = 428


class TooManyQueriesError(QueriesError):
    """No more saved queries can be added."""

    code = "too-many-queries"
    status = 409


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
