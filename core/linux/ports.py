"""Find free TCP ports, and the process that holds a port."""

import contextlib
import errno
import socket
from pathlib import Path

_LISTEN = "0A"


def try_bind(address: str, port: int) -> OSError | None:
    """Return why nothing can listen there; None if it can. Port 0 means any port."""
    with socket.socket() as probe:
        # Like the servers: a lingering connection does not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            # bind() without listen(): two probes at the same moment must not conflict.
            probe.bind((address, port))
        except OSError as error:
            return error
    return None


def is_taken(error: OSError) -> bool:
    """Whether another socket holds the port; if not, the address cannot be used."""
    return error.errno == errno.EADDRINUSE


def free_port(address: str, wanted: int = 0) -> int:
    """Return ``wanted`` if it is free, else another free port."""
    if wanted and try_bind(address, wanted) is None:
        return wanted
    with socket.socket() as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port


def holder(port: int) -> str | None:
    """Return ``command (pid N)`` of the process that listens; None if hidden."""
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
    """Return the open files of a process, without those that cannot be read."""
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
