"""The root of all errors, and how the command line shows them.

SuperTwinError      its subclasses set the code, the exit status and the HTTP status
├─ StartError       a child process does not come up; includes its last output
├─ SeriesError      the series store returns no points
├─ UserError        the user can fix it; the message says how
│  ├─ NotRunningError    the stack does not run
│  ├─ StateFolderError   the state folder cannot be used
│  ├─ ExternalStoreError a store is external
│  ├─ FileError          a file or folder cannot be read or written
│  └─ DiskFullError      a disk is full
├─ ApiError         an error shown to a client (RFC 9457)
│  ├─ BadQueryError    400
│  ├─ NotFoundError    404
│  └─ EndpointError    the graph store gave no usable answer, in core.stores.errors
└─ the root of each folder's errors, in its errors.py
"""

import errno
from collections.abc import Mapping, Sequence
from typing import Any

# Exit statuses of the command line.
FAILED = 1
USER_CAN_FIX = 2
# Codes of errors that are not ours.
INTERNAL, DISK_FULL, FILE_ERROR = "internal-error", "disk-full", "file-error"
# A problem's type in the API is this with the code.
PROBLEM_TYPES = "https://w3id.org/supertwin/problem/"


class SuperTwinError(Exception):
    """Root of all errors; the text is one line that names the thing and the fix.

    Only subclasses with a ``code`` are raised. It is stable: scripts and other code
    react to it. ``title`` says what the code means: the first sentence of the class
    that has it. ``status`` answers a request that failed because of it; ``lines`` say
    more.
    """

    code: str
    title: str
    exit_code = FAILED
    status = 502
    lines: Sequence[str] = ()

    def __init_subclass__(cls) -> None:
        if "code" in vars(cls):
            first, _, _ = (cls.__doc__ or "").partition("\n\n")
            cls.title = " ".join(first.split()).removesuffix(".")

    def __init__(self, *text: object, code: str = "") -> None:
        super().__init__(*text)
        if code:
            self.code = code


class StartError(SuperTwinError):
    """A part of the stack does not come up."""

    code = "start-failed"


class UserError(SuperTwinError):
    """Root of errors that the user can fix; the text says how."""

    exit_code = USER_CAN_FIX
    status = 400


class NotRunningError(UserError):
    """The stack does not run."""

    code = "not-running"


class StateFolderError(UserError):
    """The state folder cannot be used, or is open to other users."""

    code = "bad-state-folder"


class ExternalStoreError(UserError):
    """A store is external, so only its own tools can do this."""

    code = "external-store"


class FileError(UserError):
    """A file or folder cannot be read or written."""

    code = FILE_ERROR


class DiskFullError(UserError):
    """A disk is full."""

    code = DISK_FULL


class SeriesError(SuperTwinError):
    """The series cannot be read."""

    code = "series-unreadable"


class ApiError(SuperTwinError):
    """Any error that a client sees; ``code`` is the last part of its type IRI."""

    def __init__(
        self,
        status: int,
        code: str,
        title: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **members: Any,
    ) -> None:
        super().__init__(detail, code=code)
        self.status, self.title = status, title
        self.exit_code = USER_CAN_FIX if status < 500 else FAILED
        self.detail, self.headers, self.members = detail, headers, members


class BadQueryError(ApiError):
    """400: a SPARQL query that is rejected."""

    def __init__(self, code: str, title: str, detail: str) -> None:
        super().__init__(400, code, title, detail)


class NotFoundError(ApiError):
    """404, with a hint where to look instead."""

    def __init__(self, code: str, title: str, detail: str, **members: Any) -> None:
        super().__init__(404, code, title, detail, **members)


def api_error(
    error: SuperTwinError,
    status: int | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    **members: Any,
) -> ApiError:
    """The answer to a request that fails because of an error, by default its status."""
    return ApiError(
        status or error.status,
        error.code,
        error.title,
        str(error),
        headers=headers,
        **members,
    )


def error_lines(error: Exception) -> list[str]:
    """Return one line with the problem and its fix, then a report if there is one."""
    if isinstance(error, SuperTwinError):
        return [_flat(error), *(f"  {line}" for line in error.lines)]
    if not isinstance(error, OSError):
        return [
            f"{type(error).__name__}: {_flat(error)}: a fault in SuperTwin; "
            "`supertwin --traceback COMMAND` shows where"
        ]
    if error.errno == errno.ENOSPC:
        return [f"the disk is full ({error.filename or 'no file named'}): free some"]
    if error.strerror and error.filename:
        return [f"{error.filename}: {error.strerror}"]
    return [_flat(error)]


def exit_code(error: Exception) -> int:
    """Return 2 if the user can fix the error, and 1 for a failure."""
    if isinstance(error, SuperTwinError):
        return error.exit_code
    return USER_CAN_FIX if isinstance(error, FileNotFoundError) else FAILED


def error_code(error: Exception) -> str:
    """Return the stable code of any error."""
    if isinstance(error, SuperTwinError):
        return error.code
    if not isinstance(error, OSError):
        return INTERNAL
    return DISK_FULL if error.errno == errno.ENOSPC else FILE_ERROR


def _flat(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
