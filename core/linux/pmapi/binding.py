"""PCP's Python binding, loaded on first use, and its errors."""

import errno
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from core.errors import SuperTwinError
from core.linux.pmapi.status import PmStatus

# PCP protocol constants, defined here so that this module loads without the binding.
NO_INDOM = 0xFFFFFFFF
NO_METRIC = 0xFFFFFFFF
CONTEXT_HOST = 1

TYPE_32, TYPE_U32, TYPE_64, TYPE_U64, TYPE_FLOAT, TYPE_DOUBLE, TYPE_STRING = range(7)

NO_ANSWER = frozenset(
    {PmStatus.TIMEOUT, PmStatus.PROTOCOL, PmStatus.CLOSED, PmStatus.NOT_CONNECTED}
)
DENIED = frozenset({PmStatus.PERMISSION, -errno.EPERM, -errno.EACCES})
ERROR_BASE = -12345  # PM_ERR_BASE; numbers above it are errors of the system


class PmapiError(SuperTwinError):
    """Root of the errors of this folder."""


class BindingMissingError(PmapiError):
    """PCP's Python binding cannot be loaded."""

    code = "no-pcp-binding"


class PmError(PmapiError):
    """PCP refuses a request.

    ``number`` is PMAPI's negative status; the text is PCP's own.
    """

    code = "pcp-error"

    def __init__(self, number: int) -> None:
        super().__init__(error_text(number))
        self.number = number

    @property
    def is_timeout(self) -> bool:
        """Whether PMCD itself may have stopped answering."""
        return self.number in NO_ANSWER or self.number > ERROR_BASE

    @property
    def is_denied(self) -> bool:
        """Whether rights are missing."""
        return self.number in DENIED


@cache
def binding() -> Any:
    """Return the module ``pcp.pmapi``; raises BindingMissingError."""
    try:
        return import_module("pcp.pmapi")
    # Without libpcp, the binding raises the last two.
    except (ImportError, OSError, AttributeError) as error:
        raise BindingMissingError(
            f"PCP's Python binding cannot be loaded ({error}): "
            "apt-get install python3-pcp, then run ./install.sh"
        ) from error


@cache
def read_settings() -> None:
    """Let libpcp copy pcp.conf into the environment now, not at the first connect.

    Call it before other threads start: a thread that reads the environment while libpcp
    adds to it may crash the process. Does nothing if the binding is missing.
    """
    with suppress(BindingMissingError):
        binding().pmContext.pmGetConfig("PCP_DIR")


def call_pcp(ask: Callable[..., Any], *parameters: Any, **options: Any) -> Any:
    """Call a function of the binding and return its result; raises PmError."""
    try:
        return ask(*parameters, **options)
    except binding().pmErr as error:
        raise PmError(error.code) from None


def check_status(status: int) -> int:
    """Return the status; raises PmError if it is negative."""
    if status < 0:
        raise PmError(status)
    return status


def error_text(number: int) -> str:
    """Return PCP's text for a negative status."""
    return str(binding().pmContext.pmErrStr(number))
