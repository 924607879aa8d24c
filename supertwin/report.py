"""Any error as the command line shows it: one line, and an exit status."""

import errno
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ingest.errors import IngestError, NotConformingError
from queries.errors import EndpointError, QueriesError, QuerySyntaxError
from supertwin.errors import MendableError, SuperTwinError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

KNOWN = (SuperTwinError, IngestError, QueriesError, ValidationError, OSError)


def error_lines(error: Exception) -> list[str]:
    """Return one line: what went wrong and its cure; then a report if there is one."""
    if isinstance(error, NotConformingError):
        return [_flat(error), *(f"  {line}" for line in error.lines)]
    if isinstance(error, ValidationError):
        return ["; ".join(map(_setting, error.errors()))]
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return [f"the disk is full ({error.filename or 'no file named'}): free some"]
    if isinstance(error, OSError) and error.strerror and error.filename:
        return [f"{error.filename}: {error.strerror}"]
    return [_flat(error)]


def exit_code(error: Exception) -> int:
    """Return 2 for what the user can mend, 1 for a failure."""
    if isinstance(error, SuperTwinError):
        return error.exit_code
    failed = isinstance(error, EndpointError | OSError)
    if failed and not isinstance(error, QuerySyntaxError | FileNotFoundError):
        return SuperTwinError.exit_code
    return MendableError.exit_code


def _flat(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _setting(error: "ErrorDetails") -> str:
    name = ".".join(str(part) for part in error["loc"]).upper()
    wrong = error["msg"].removeprefix("Value error, ")
    return f"SUPERTWIN_{name}={error['input']}: {wrong} (see docs/settings.md)"
