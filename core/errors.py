"""The errors that command-line users and API clients see.

SuperTwinError      exit 1: a failure
├─ StartError       a child process does not come up; includes its last output
├─ SeriesError      the series store returns no points
└─ UserError    exit 2: the user can fix it; the message says how

ApiError            an error shown to a client, with its HTTP status (RFC 9457)
├─ BadQueryError    400
├─ NotFoundError    404
└─ GraphStoreError  502, 503 or 504
"""

from collections.abc import Mapping
from typing import Any


class SuperTwinError(Exception):
    """A failure; its text is one line that names the thing and the cure."""

    exit_code = 1


class StartError(SuperTwinError):
    """A part of the stack does not come up."""


class UserError(SuperTwinError):
    """An error that the user can fix."""

    exit_code = 2


class SeriesError(SuperTwinError):
    """The series cannot be read."""


class ApiError(Exception):
    """Any error that a client sees; ``kind`` is the last part of its type IRI."""

    def __init__(
        self,
        status: int,
        kind: str,
        title: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **members: Any,
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.title = status, kind, title
        self.detail, self.headers, self.members = detail, headers, members


class BadQueryError(ApiError):
    """400: a SPARQL query that is rejected."""

    def __init__(self, kind: str, title: str, detail: str) -> None:
        super().__init__(400, kind, title, detail)


class NotFoundError(ApiError):
    """404, with a hint where to look instead."""

    def __init__(self, kind: str, title: str, detail: str, **members: Any) -> None:
        super().__init__(404, kind, title, detail, **members)


class GraphStoreError(ApiError):
    """502, 503 or 504: the graph store gave no complete answer."""
