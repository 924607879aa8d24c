"""Which TCP ports are free, and who holds one that is not."""

import contextlib
import errno
import socket
from pathlib import Path

_LISTEN = "0A"


def try_bind(address: str, port: int) -> OSError | None:
    """Return why nothing can listen there; None when it can. Port 0 is any port."""
    with socket.socket() as probe:
        # As the servers do it: a connection that lingers is no reason to refuse.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            # Two that look at the same moment do not see each other: neither listens.
            probe.bind((address, port))
        except OSError as error:
            return error
    return None


def is_taken(error: OSError) -> bool:
    """Tell a port that something holds from an address that cannot be used."""
    return error.errno == errno.EADDRINUSE


def free_port(address: str, wanted: int = 0) -> int:
    """Return ``wanted`` when it is free, else a port that is."""
    if wanted and try_bind(address, wanted) is None:
        return wanted
    with socket.socket() as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port


def holder(port: int) -> str | None:
    """Return ``command (pid N)`` of who listens on a port; None when it is hidden."""
    inodes = {f"socket:[{inode}]" for inode in _listening(port)}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and inodes & open_files(folder):
            return f"{_command(folder)} (pid {folder.name})"
    return None


def _listening(port: int) -> list[str]:
    """Return the socket inodes that listen on a port, from the kernel's tables."""
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        path = Path(table)
        lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
        for columns in map(str.split, lines[1:]):
            if columns[3] == _LISTEN and int(columns[1].rpartition(":")[2], 16) == port:
                found.append(columns[9])
    return found


def open_files(folder: Path) -> set[str]:
    """Return what a process has open; what it hides or closes meanwhile is left out."""
    found = set()
    with contextlib.suppress(OSError):
        for link in (folder / "fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(str(link.readlink()))
    return found


def _command(folder: Path) -> str:
    try:
        return (folder / "comm").read_text(encoding="utf-8").strip()
    except OSError:
        return "a process"
