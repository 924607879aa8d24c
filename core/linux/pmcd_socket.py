"""Check whether a PMCD listens on a Unix socket."""

import socket
from pathlib import Path

_GREETING_SECONDS = 5.0


def greets(path: Path, seconds: float = _GREETING_SECONDS) -> bool:
    """Whether a PMCD, which sends first, answers on the socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(seconds)
        try:
            client.connect(str(path))
            return len(client.recv(4)) == 4
        except OSError:
            return False
