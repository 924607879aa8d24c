"""The names that hosts may have."""

import re

from ingest.errors import HostNameError

_LONGEST_HOST = 253
_HOST_LABEL = r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)"
_HOST = re.compile(rf"{_HOST_LABEL}(\.{_HOST_LABEL})*")


def check_host(name: str) -> str:
    """The name itself, if a host can be registered under it.

    Raises HostNameError for all but letters, digits, ``.``, ``-`` and ``_`` in the
    order of RFC 1123.
    """
    if len(name) <= _LONGEST_HOST and _HOST.fullmatch(name):
        return name
    raise HostNameError(
        f"host name {name[:_LONGEST_HOST]!r} cannot be used: give it letters, digits, "
        "'.', '-' and '_' only, at most 63 between two dots, such as node1.example.org"
    )
