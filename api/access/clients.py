"""Whose request it is, where several clients share something."""

import socket
from pathlib import Path

from fastapi import Request

from core.settings.audit import local_user

_TABLE = Path("/proc/net/tcp")
_LOCAL, _REMOTE, _USER = 1, 2, 7


def client_of(request: Request) -> str:
    """The name of whoever was let in; else the local user, or the address.

    All users of a machine share its loopback address.
    """
    caller = getattr(request.state, "caller", None)
    return str(caller.name) if caller else peer_of(request)


def address_of(request: Request) -> str:
    """The name of whoever was let in; else the address, which is cheap to know."""
    if caller := getattr(request.state, "caller", None):
        return str(caller.name)
    return request.client.host if request.client else "unknown"


def peer_of(request: Request) -> str:
    """The local user at the other end of the connection, else its address."""
    if request.client is None:
        return "unknown"
    host, port = request.client
    server = request.scope.get("server")
    # The kernel's table has IPv4 alone.
    if server and host.startswith("127.") and server[0].startswith("127."):
        user = _user_of(_hex(host, port), _hex(*server))
        return local_user(int(user)) if user else host
    return host


def _user_of(local: str, remote: str) -> str:
    """The user id of a socket of this machine, from the kernel's table; '' for none."""
    for line in _TABLE.read_text("ascii").splitlines()[1:]:
        columns = line.split()
        if (columns[_LOCAL], columns[_REMOTE]) == (local, remote):
            return columns[_USER]
    return ""


def _hex(host: str, port: int) -> str:
    """An IPv4 address as the kernel's table has it."""
    address = int.from_bytes(socket.inet_aton(host), "little")
    return f"{address:08X}:{port:04X}"
