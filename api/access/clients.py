"""Names the client of a request, for limits that clients share."""

import socket
from pathlib import Path

from fastapi import Request

from core.settings.audit import local_user

_TABLE = Path("/proc/net/tcp")
_LOCAL, _REMOTE, _USER = 1, 2, 7


def client_of(request: Request) -> str:
    """Return the caller's name, else the local user, else the address.

    All users of a machine share its loopback address.
    """
    caller = getattr(request.state, "caller", None)
    return str(caller.name) if caller else peer_of(request)


def address_of(request: Request) -> str:
    """Return the caller's name, else the address, which is cheap to determine."""
    if caller := getattr(request.state, "caller", None):
        return str(caller.name)
    return request.client.host if request.client else "unknown"


def peer_of(request: Request) -> str:
    """Return the local user at the other end of the connection, else its address."""
    if request.client is None:
        return "unknown"
    host, port = request.client
    server = request.scope.get("server")
    # The kernel's table holds only IPv4.
    if server and host.startswith("127.") and server[0].startswith("127."):
        user = _user_of(_hex(host, port), _hex(*server))
        return local_user(int(user)) if user else host
    return host


def _user_of(local: str, remote: str) -> str:
    """Find the user id of a local socket in the kernel's table; '' if not there."""
    for line in _TABLE.read_text("ascii").splitlines()[1:]:
        columns = line.split()
        if (columns[_LOCAL], columns[_REMOTE]) == (local, remote):
            return columns[_USER]
    return ""


def _hex(host: str, port: int) -> str:
    """Format an IPv4 address as in the kernel's table."""
    address = int.from_bytes(socket.inet_aton(host), "little")
    return f"{address:08X}:{port:04X}"
