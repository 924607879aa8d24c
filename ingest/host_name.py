"""Valid host names."""

import re

from ingest.errors import HostNameError

_LONGEST_HOST = 253
_HOST_LABEL = r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)"
_HOST = re.compile(rf"{_HOST_LABEL}(\.{_HOST_LABEL})*")


def check_host(name: str) -> str:
    """Return the name if it is a valid host name.

    It consists of letters, digits, ``.``, ``-`` and ``_``, with labels as in RFC 1123.
    Raises HostNameError.
    """
    if len(name) <= _LONGEST_HOST and _HOST.fullmatch(name):
        return name
    raise HostNameError(
        f"{name[:_LONGEST_HOST]!r} is not a valid host name: use letters, digits, '-' "
        "and '_', at most 63 between two dots, such as node1.example.org"
    )
