"""PCP's Python binding, loaded when it is first needed, and its errors."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

# Numbers of PCP's protocol, so that this module loads where the binding is missing.
NO_INDOM = 0xFFFFFFFF
NO_METRIC = 0xFFFFFFFF
CONTEXT_HOST = 1

TYPE_32, TYPE_U32, TYPE_64, TYPE_U64, TYPE_FLOAT, TYPE_DOUBLE, TYPE_STRING = range(7)

UNKNOWN_NAME = -12357
TIMEOUT = -12353
# PM_ERR_IPC, _EOF, _NOTCONN, and below PM_ERR_BASE the system's own errors.
NO_ANSWER = frozenset({TIMEOUT, -12366, -12368, -12391})
ERROR_BASE = -12345


class PmapiError(Exception):
    """Root of the errors of this folder."""


class BindingMissingError(PmapiError):
    """PCP's Python binding cannot be loaded."""


class PmError(PmapiError):
    """A negative status of PMAPI; ``code`` is the status, the text is PCP's own."""

    def __init__(self, code: int) -> None:
        super().__init__(error_text(code))
        self.code = code

    @property
    def is_silence(self) -> bool:
        """Whether it may be that PMCD itself does not answer any more."""
        return self.code in NO_ANSWER or self.code > ERROR_BASE


@cache
def binding() -> Any:
    """The module ``pcp.pmapi``; raises BindingMissingError."""
    try:
        return import_module("pcp.pmapi")
    # The binding without libpcp raises the last two.
    except (ImportError, OSError, AttributeError) as error:
        raise BindingMissingError(
            f"PCP's Python binding cannot be loaded ({error}): "
            "apt-get install python3-pcp, then run ./install.sh"
        ) from error


@cache
def read_settings() -> None:
    """Let libpcp read pcp.conf into the environment, as it else does when it connects.

    Call it before other threads start: one that reads the environment while libpcp
    adds to it may crash the process. Does nothing where the binding is missing.
    """
    with suppress(BindingMissingError):
        binding().pmContext.pmGetConfig("PCP_DIR")


def asked(ask: Callable[..., Any], *parameters: Any, **options: Any) -> Any:
    """The answer of a function of the binding; raises PmError."""
    try:
        return ask(*parameters, **options)
    except binding().pmErr as error:
        raise PmError(error.code) from None


def checked(status: int) -> int:
    """The status; PmError where it is negative."""
    if status < 0:
        raise PmError(status)
    return status


def error_text(code: int) -> str:
    """PCP's own words for a negative status."""
    return str(binding().pmContext.pmErrStr(code))
