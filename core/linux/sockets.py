"""The owner of a TCP socket, asked of the kernel through sock_diag(7)."""

import socket
import struct

Address = tuple[str, int]

_SOCK_DIAG, _BY_FAMILY, _REQUEST = 4, 20, 1  # NETLINK_SOCK_DIAG, message type, flag
_ANY = 0xFFFFFFFF
# struct nlmsghdr, then struct inet_diag_req_v2 with its struct inet_diag_sockid.
_HEADER = struct.Struct("=IHHII")
_FILTER = struct.Struct("=BBBBI")
_SOCKET = struct.Struct(">HH4s12x4s12x12s")
# The remote port and the user id in struct inet_diag_msg, after the answer's header.
_REMOTE_PORT = struct.Struct(">6xH")
_USER = struct.Struct("=64xI")
_NO_COOKIE = struct.pack("=III", 0, _ANY, _ANY)


def socket_owner(local: Address, remote: Address) -> int | None:
    """Return the user id of the local IPv4 socket between two addresses.

    None if this machine has no such socket, or its kernel has no sock_diag.
    """
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
            kernel.send(_request(local, remote))
            answer = kernel.recv(4096)
    except OSError:
        return None
    if _HEADER.unpack_from(answer)[1] != _BY_FAMILY:
        return None
    # Without such a connection, the kernel names a socket that listens at this end.
    if _REMOTE_PORT.unpack_from(answer, _HEADER.size)[0] != remote[1]:
        return None
    return int(_USER.unpack_from(answer, _HEADER.size)[0])


def _request(local: Address, remote: Address) -> bytes:
    addresses = (socket.inet_aton(local[0]), socket.inet_aton(remote[0]))
    wanted = _FILTER.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, _ANY)
    wanted += _SOCKET.pack(local[1], remote[1], *addresses, _NO_COOKIE)
    size = _HEADER.size + len(wanted)
    return _HEADER.pack(size, _BY_FAMILY, _REQUEST, 0, 0) + wanted
