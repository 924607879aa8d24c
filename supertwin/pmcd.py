"""Which PMCD the stack uses: the one that runs, or one of our own."""

import socket
from pathlib import Path

from supertwin.children import pmcd_socket
from supertwin.settings import LOOPBACK, Settings

# The system's own place; a Unix socket comes first because TCP hides `proc.*`.
SYSTEM_SOCKET = Path("/run/pcp/pmcd.socket")
_SYSTEM_PORT = 44321
_TIMEOUT = 2.0


def choose(settings: Settings) -> tuple[str, bool]:
    """Return the address of the PMCD to use and whether we have to start it."""
    if settings.pmcd == "auto":
        running = running_address()
        return (running, False) if running else (_own(settings), True)
    if settings.pmcd == "own":
        return _own(settings), True
    return settings.pmcd, False


def _own(settings: Settings) -> str:
    return f"unix://{pmcd_socket(settings)}"


def running_address() -> str | None:
    """Return the address of the machine's running PMCD; None when there is none."""
    if _greets(socket.AF_UNIX, str(SYSTEM_SOCKET)):
        return f"unix://{SYSTEM_SOCKET}"
    if _greets(socket.AF_INET, (LOOPBACK, _SYSTEM_PORT)):
        return LOOPBACK
    return None


def _greets(family: int, address: str | tuple[str, int]) -> bool:
    """Tell a PMCD, which speaks first, from a dead socket or another service."""
    with socket.socket(family) as client:
        client.settimeout(_TIMEOUT)
        try:
            client.connect(address)
            return len(client.recv(4)) == 4
        except OSError:
            return False
