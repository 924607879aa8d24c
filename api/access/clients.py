"""Names the client of a request, for limits that clients share."""

from fastapi import Request

from core.linux.sockets import socket_owner
from core.settings.audit import local_user


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
    if server and host.startswith("127.") and server[0].startswith("127."):
        user = socket_owner((host, port), server)
        return host if user is None else local_user(user)
    return host
