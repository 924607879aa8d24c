"""Every error has one root, one line, an exit status and an HTTP status."""

import ast
import errno
import os

import pytest

from core.errors import (
    ApiError,
    StartError,
    SuperTwinError,
    UserError,
    error_lines,
    exit_code,
)
from core.linux.ssh.errors import AddressError, RemoteLoginError
from core.stores.errors import (
    EndpointError,
    EndpointUnreachableError,
    QuerySyntaxError,
)
from dashboards.errors import RowError
from dtdl.errors import DtmiError
from ingest.errors import (
    ConnectionLostError,
    HostNameError,
    NotConformingError,
    PlanRequestError,
)
from observations.errors import CpusTakenError, LaunchError, ObservationError
from pinning.errors import LimitError
from queries.errors import ParameterError
from sampling.cost.errors import BusyError
from sampling.errors import SourceDownError
from tests.test_layout import SOURCES

# Without our root: the first folder in import order, what is sent to a host as a
# program of the standard library alone, subclasses of the system's errors, and what
# never leaves its folder.
OTHER_ROOTS = {
    "AgentError",
    "FetchError",
    "IdError",
    "ApiResponseError",
    "MissingError",
    "NoConnectionError",
    "NoneFreeError",
    "OntologyError",
    "RecorderError",
    "Refused",
    "ScriptError",
    "SuperTwinError",
    "UnsureError",
    "_NoLongerError",
}
_BUILT_IN = {"Exception", "OSError", "RuntimeError", "ValueError", "LookupError"}


def test_all_errors_have_one_root() -> None:
    found = {
        node.name
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
        and any(ast.unparse(base) in _BUILT_IN for base in node.bases)
    }
    assert found == OTHER_ROOTS


@pytest.mark.parametrize(
    ("kind", "exit_status", "status"),
    [
        (SuperTwinError, 1, 502),
        (StartError, 1, 502),
        (UserError, 2, 400),
        (HostNameError, 2, 400),
        (PlanRequestError, 2, 400),
        (ConnectionLostError, 1, 502),
        (ParameterError, 2, 400),
        (EndpointError, 1, 502),
        (EndpointUnreachableError, 1, 503),
        (QuerySyntaxError, 2, 400),
        (RemoteLoginError, 2, 502),
        (AddressError, 2, 400),
        (ObservationError, 1, 502),
        (LaunchError, 2, 502),
        (CpusTakenError, 2, 409),
        (RowError, 2, 502),
        (DtmiError, 2, 502),
        (LimitError, 2, 409),
        (SourceDownError, 1, 502),
        (BusyError, 1, 502),
    ],
)
def test_errors_have_exit_and_http_statuses(
    kind: type[SuperTwinError], exit_status: int, status: int
) -> None:
    error = kind("the thing:\nthe fix")
    assert error_lines(error) == ["the thing: the fix"]
    assert (exit_code(error), error.status) == (exit_status, status)


@pytest.mark.parametrize(("status", "exit_status"), [(404, 2), (503, 1)])
def test_api_answer_below_500_is_a_user_error(status: int, exit_status: int) -> None:
    assert exit_code(ApiError(status, "kind", "title", "detail")) == exit_status


def full_disk() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/twin/file")


@pytest.mark.parametrize(
    ("error", "exit_status", "line"),
    [
        (full_disk(), 1, "the disk is full (/twin/file): free some"),
        (PermissionError(13, "Permission denied", "/a"), 1, "/a: Permission denied"),
    ],
)
def test_system_errors_have_a_line_and_a_status(
    error: Exception, exit_status: int, line: str
) -> None:
    assert error_lines(error) == [line]
    assert exit_code(error) == exit_status


def test_refused_graph_shows_the_report() -> None:
    error = NotConformingError("n1", ["a has no b", "c has two d"])
    assert error_lines(error)[1:] == ["  a has no b", "  c has two d"]
    assert exit_code(error) == 2


def test_unexpected_error_says_where_to_look() -> None:
    (line,) = error_lines(KeyError("x"))
    assert line.startswith("KeyError: 'x': a fault in SuperTwin")
    assert exit_code(KeyError("x")) == 1
