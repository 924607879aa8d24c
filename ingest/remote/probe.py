"""Probe a remote machine: over ssh, or from a copy that it made of itself.

The collector is sent over the connection and only copies. All parsing happens here,
with the same sources as for this machine.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from core.linux.ssh.address import parse_address
from core.linux.ssh.reasons import printable
from ingest.errors import (
    BundleError,
    ConnectionLostError,
    ProbeSourceError,
    RemoteError,
    RemoteSetupError,
)
from ingest.host_name import check_host
from ingest.probe import probe
from ingest.remote import collect
from ingest.remote.bundle import FIX, MachineCopy, unpacked
from ingest.remote.ssh import Command, Connection, connected
from ingest.sources.files import read_value

Progress = Callable[[str], None]

_SECONDS = collect.SECONDS + 45.0
NO_PYTHON = 97
# The exit status of ssh when the connection breaks.
_BROKEN = 255
_SHOWN = 8
_SOCKET = re.compile(r"/[A-Za-z0-9_./-]{1,90}")
# Plain sh in single quotes, which every login shell passes on unchanged. Isolated mode
# ignores the user's Python modules and settings, -B writes no bytecode. Some
# installations of Python are incomplete.
_WHOLE = "import ctypes, mmap, sys, tarfile; sys.exit(sys.version_info < (3, 8))"
_QUIETLY = "</dev/null >/dev/null 2>&1"
FIND_PYTHON = (
    "for p in python3 python3.14 python3.13 python3.12 python3.11 python3.10 python3.9 "
    "python3.8 /usr/bin/python3 /usr/local/bin/python3; do "
    'p=$(command -v "$p" 2>/dev/null) && '
    f'"$p" -ISB -c "{_WHOLE}" {_QUIETLY} && break; p=; done; '
    f'[ -n "$p" ] || exit {NO_PYTHON}; '
)
_AS_ROOT = (
    f'if [ "$(id -u)" -gt 0 ] && sudo -n -- "$p" -ISB - {_QUIETLY}; then '
    'exec sudo -n -- "$p" -ISB -; fi; '
)
_AS_USER = 'exec "$p" -ISB -'


def probe_remote(
    address: str,
    host: str | None = None,
    progress: Progress | None = None,
    *,
    config: Path | None = None,
    sudo: bool = True,
) -> dict[str, Any]:
    """Query every source about the machine at an address such as ``ssh://me@n1``.

    The result is a document like that of a local probe. ``host`` is the machine's name;
    if None, its own host name. ``config`` replaces ~/.ssh/config. With ``sudo``, the
    collector runs as root if the remote sudo asks no password. Raises AddressError,
    HostNameError, RemoteError.
    """
    where = parse_address(address)
    tell = progress or (lambda line: None)
    if host is not None:
        check_host(host)
    with connected(where, config) as connection:
        tell(f"{where}: connected")
        with _copied(connection, sudo) as copied:
            socket = _pmcd(connection, copied)
            document = _probe(copied, host, socket, str(where), tell)
    _name_pmcd(document, socket, str(where))
    return document


def probe_copy(
    path: Path, host: str | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Query every source about the machine in a file that ``collect.py`` wrote.

    Raises BundleError, HostNameError.
    """
    if host is not None:
        check_host(host)
    with path.open("rb") as file:
        try:
            with unpacked(file.read1) as copied:
                tell = progress or (lambda line: None)
                return _probe(copied, host, None, str(path), tell)
        except BundleError as error:
            raise BundleError(f"{path}: {error}: {FIX}") from None


@contextmanager
def _copied(connection: Connection, sudo: bool) -> Iterator[MachineCopy]:
    """Unpack the copy that the remote machine makes of itself; raises RemoteError."""
    program = Path(collect.__file__).read_bytes()
    script = FIND_PYTHON + (_AS_ROOT if sudo else "") + _AS_USER
    with ExitStack() as stack:
        with connection.run(f"exec sh -c '{script}'", program, _SECONDS) as command:
            try:
                copied = stack.enter_context(unpacked(command.output.read))
            except BundleError as error:
                raise _refused(connection, command, error) from None
        yield copied


def _refused(
    connection: Connection, command: Command, error: BundleError
) -> RemoteError:
    """Explain why there is no copy: no Python, a broken connection or other causes."""
    where = connection.address
    status = command.status() if command.output.ended else 0
    if status == NO_PYTHON:
        return RemoteSetupError(
            f"{where} has no complete Python 3.8 or newer: apt-get install python3 "
            "there"
        )
    if status == _BROKEN and not connection.is_open:
        size = command.output.size
        return ConnectionLostError(
            f"the connection to {where} broke after {size} bytes: try again"
        )
    lines = command.last_lines()
    why = f"; its last line: {printable(lines[-1])}" if lines else ""
    fix = f"see what `ssh {where} python3 --version` prints"
    return RemoteError(f"{where} sent no copy of its files: {error}{why}; {fix}")


def _probe(
    copied: MachineCopy, host: str | None, socket: str | None, name: str, tell: Progress
) -> dict[str, Any]:
    for line in _gaps(copied):
        tell(f"{name}: {line}")
    own = read_value(copied.machine.root / "proc/sys/kernel/hostname") or ""
    document = probe(check_host(host or own), socket, tell, copied.machine)
    collected = {"root": copied.as_root, "unread": copied.unread, "cut": copied.cut}
    return {**document, "address": name, "collected": collected}


def _gaps(copied: MachineCopy) -> Iterator[str]:
    if copied.unread and not copied.as_root:
        # One of each kind: many exist for every CPU.
        kinds = list(dict.fromkeys(re.sub("[0-9]+", "*", f) for f in copied.unread))
        more = len(kinds) - _SHOWN
        files = ", ".join(kinds[:_SHOWN]) + (f" and {more} more" * (more > 0))
        yield (
            f"without root, {files} could not be read: log in as root, or allow sudo "
            "there without a password"
        )
    if copied.cut:
        yield f"the copy is incomplete: {copied.cut}"


def _name_pmcd(document: dict[str, Any], socket: str | None, name: str) -> None:
    """Name the PMCD by its host: the local socket no longer exists."""
    if pcp := document["facts"].get("pcp"):
        pcp["address"] = name
    outcome = document["sources"]["pcp"]
    if socket and outcome["reason"]:
        outcome["reason"] = outcome["reason"].replace(socket, name)


def _pmcd(connection: Connection, copied: MachineCopy) -> str | None:
    """The address of a local socket forwarded to the remote PMCD; None without one."""
    try:
        sockets = json.loads(copied.machine.tool("pmcd"))
    except (ProbeSourceError, ValueError, RecursionError):
        return None
    known = isinstance(sockets, list) and sockets and isinstance(sockets[0], str)
    if not known or not _SOCKET.fullmatch(sockets[0]):
        return None
    try:
        return f"unix://{connection.forward(sockets[0])}"
    except RemoteError:
        return None
