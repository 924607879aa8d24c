"""One ssh connection, with commands and forwarded sockets over it.

A master process holds the connection (ControlMaster), so there is only one login per
host, and a failed login can be distinguished from a failed command.
"""

import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from core.linux.ssh.address import Address
from core.linux.ssh.client import (
    CONNECT_SECONDS,
    LONGEST_SOCKET,
    OPTIONS,
    Ssh,
    ssh_argv,
)
from core.linux.ssh.reasons import explain, printable
from core.linux.ssh.sockets import plain_socket
from ingest.errors import ConnectionLostError, RemoteError

# Connecting, greeting, key exchange and login: each may take a while.
_LOGIN_SECONDS = 30.0
_PIECE = 1 << 16
_LONGEST_FOLDER = LONGEST_SOCKET - 30
# Without its master, ssh would open a new connection.
_ALONE = {"ControlMaster": "no", "ProxyCommand": "false"}
# With the user's configuration, ssh would also open its forwards.
_NO_CONFIG = Path("none")


class RemoteOutput:
    """The output of a remote command, read with a time limit."""

    def __init__(self, pipe: IO[bytes], seconds: float, name: str) -> None:
        self.size = 0
        self.ended = False
        self._pipe = pipe
        self._until = time.monotonic() + seconds
        self._name = name

    def read(self, most: int = _PIECE) -> bytes:
        """Read up to ``most`` bytes; none at the end. Raises ConnectionLostError."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipe, selectors.EVENT_READ)
            if not selector.select(max(0.0, self._until - time.monotonic())):
                raise ConnectionLostError(
                    f"the command on {self._name} did not finish in time: try again "
                    "when that host is idle"
                )
        piece = os.read(self._pipe.fileno(), most)
        self.size += len(piece)
        self.ended = not piece
        return piece


class Connection:
    """A login on a remote host, shared by all commands."""

    def __init__(self, address: Address, config: Path | None, folder: Path) -> None:
        self.address = address
        self._folder = folder
        self._socket = folder / "master"
        self._master: Ssh | None = None
        self._config = config

    @contextmanager
    def master(self) -> Iterator[None]:
        """Log in, and stay logged in while the block runs; raises RemoteError."""
        stay = ("-M", "-N", "-o", "ControlMaster=yes", "-o", "ControlPersist=no")
        with _started(self._argv(*stay), self.address) as ssh:
            self._wait_for_login(ssh)
            self._master = ssh
            yield

    @property
    def is_open(self) -> bool:
        """Whether the login still holds."""
        if self._master is None:
            return False
        # A command may end just before the login does.
        with suppress(subprocess.TimeoutExpired):
            self._master.process.wait(0.5)
        return self._master.process.poll() is None

    def _wait_for_login(self, ssh: Ssh) -> None:
        until = time.monotonic() + _LOGIN_SECONDS
        while not self._socket.exists():
            if ssh.process.poll() is not None:
                raise RemoteError(explain(self.address, ssh.last_lines()))
            if time.monotonic() > until:
                raise RemoteError(
                    f"{self.address} did not accept the login within "
                    f"{_LOGIN_SECONDS:g} s: try `ssh {self.address}`"
                )
            time.sleep(0.02)

    @contextmanager
    def run(self, command: str, program: bytes, seconds: float) -> Iterator["Command"]:
        """Run a remote command with a program as its standard input."""
        alone = [word for pair in _ALONE.items() for word in ("-o", "=".join(pair))]
        argv = (*self._argv(*alone), command)
        with _started(argv, self.address, program) as ssh:
            yield Command(ssh, seconds, str(self.address))

    def forward(self, remote: str) -> Path:
        """Forward a new local socket to a remote one, which need not exist.

        Raises RemoteError if ssh creates no socket, and SocketNameError for a name that
        ssh would not take literally.
        """
        local = self._folder / "forwarded"
        options = {**_ALONE, "ControlPath": str(self._socket)}
        words = ("-O", "forward", "-L", f"{local}:{plain_socket(remote)}")
        argv = ssh_argv(self.address, _NO_CONFIG, options, *words)
        with _started(argv, self.address) as ssh:
            done = ssh.wait(CONNECT_SECONDS) == 0
        if not (done and local.exists()):
            why = printable(" ".join(ssh.last_lines()[-1:])) or "it gives no reason"
            raise RemoteError(
                f"ssh created no socket to {self.address} ({why}): try again"
            )
        return local

    def _argv(self, *more: str) -> tuple[str, ...]:
        options = {**OPTIONS, "ControlPath": str(self._socket)}
        return ssh_argv(self.address, self._config, options, *more)


class Command:
    """A running command on a remote host."""

    def __init__(self, ssh: Ssh, seconds: float, name: str) -> None:
        assert ssh.process.stdout  # noqa: S101
        self._ssh = ssh
        self.output = RemoteOutput(ssh.process.stdout, seconds, name)

    def status(self) -> int:
        """Its exit status; 255 if the connection broke or the command does not end."""
        with suppress(subprocess.TimeoutExpired):
            return self._ssh.process.wait(CONNECT_SECONDS)
        return 255

    def last_lines(self) -> list[str]:
        """The last lines of its error output."""
        return self._ssh.last_lines()


@contextmanager
def connected(address: Address, config: Path | None = None) -> Iterator[Connection]:
    """Open a connection that ends with the block; ``config`` replaces ~/.ssh/config.

    Raises RemoteError, SshMissingError, SshNotStartedError.
    """
    short = len(tempfile.gettempdir()) <= _LONGEST_FOLDER
    with ExitStack() as stack:
        folder = stack.enter_context(
            # /tmp if the name of the usual folder is too long for a socket.
            tempfile.TemporaryDirectory(prefix="st-", dir=None if short else "/tmp")  # noqa: S108
        )
        connection = Connection(address, config, Path(folder))
        stack.enter_context(connection.master())
        yield connection


@contextmanager
def _started(
    argv: tuple[str, ...], address: Address, program: bytes | None = None
) -> Iterator[Ssh]:
    ssh = Ssh(argv, address, program)
    try:
        yield ssh
    finally:
        ssh.end()
