"""Names of sockets on another machine, as ssh accepts them."""

import re

from core.linux.ssh.errors import SocketNameError
from core.linux.ssh.reasons import printable

# In other names ssh finds a terminator, tokens or variables of our own environment.
_PLAIN = re.compile(r"/[\w.@+=,~/-]{1,106}")


def plain_socket(path: str) -> str:
    """Return a socket's absolute path if ssh takes it literally.

    Raises SocketNameError.
    """
    if not _PLAIN.fullmatch(path):
        raise SocketNameError(
            f"{printable(path)!r} is not a socket that ssh can lead to: use an "
            "absolute path of letters, digits and . _ @ + = , ~ - only, 107 at most"
        )
    return path
