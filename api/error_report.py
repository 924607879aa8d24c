"""Any error as the command line shows it: one line, and an exit status."""

import errno

from core.errors import SuperTwinError, UserError
from core.linux.ssh.errors import RemoteLoginError
from core.stores.errors import EndpointError, QueriesError, QuerySyntaxError
from dashboards.errors import DashboardError
from dtdl.errors import DtdlError
from ingest.errors import ConnectionLostError, IngestError, NotConformingError
from observations.errors import (
    CpusTakenError,
    CrateError,
    LaunchError,
    ObservationError,
)
from sampling.cost.errors import CostError

_KNOWN = (
    SuperTwinError,
    DashboardError,
    DtdlError,
    IngestError,
    ObservationError,
    QueriesError,
    CostError,
    RemoteLoginError,
    OSError,
)


def error_lines(error: Exception) -> list[str]:
    """Return one line with the problem and its fix, then a report if there is one."""
    if isinstance(error, NotConformingError):
        return [_flat(error), *(f"  {line}" for line in error.lines)]
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return [f"the disk is full ({error.filename or 'no file named'}): free some"]
    if isinstance(error, OSError) and error.strerror and error.filename:
        return [f"{error.filename}: {error.strerror}"]
    if not isinstance(error, _KNOWN):
        return [
            f"{type(error).__name__}: {_flat(error)}: a fault in SuperTwin; "
            "`supertwin --traceback COMMAND` shows where"
        ]
    return [_flat(error)]


def exit_code(error: Exception) -> int:
    """Return 2 if the user can fix the error, and 1 for a failure."""
    if isinstance(error, SuperTwinError):
        return error.exit_code
    if isinstance(error, QuerySyntaxError | FileNotFoundError):
        return UserError.exit_code
    if isinstance(error, EndpointError | ConnectionLostError):
        return SuperTwinError.exit_code
    mendable = (
        CrateError,
        DashboardError,
        DtdlError,
        IngestError,
        LaunchError,
        QueriesError,
        RemoteLoginError,
        CpusTakenError,
    )
    known = isinstance(error, mendable)
    return UserError.exit_code if known else SuperTwinError.exit_code


def _flat(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
