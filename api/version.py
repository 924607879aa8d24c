"""The version of SuperTwin."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def supertwin_version() -> str:
    """Return the version of the installed package; ``unknown`` if there is none."""
    try:
        return version("supertwin")
    except PackageNotFoundError:
        return "unknown"
