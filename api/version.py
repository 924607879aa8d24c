"""The version of SuperTwin."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def supertwin_version() -> str:
    """The version of the installed package, ``unknown`` in a bare checkout."""
    try:
        return version("supertwin")
    except PackageNotFoundError:
        return "unknown"
