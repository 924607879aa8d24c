"""The system's ssh: one connection, commands and forwarded sockets over it.

What ssh is configured for (keys, agents, jump hosts, known hosts) is honoured; what
would make it ask, or do more than it is asked for, is switched off. A master process
holds the connection (ControlMaster), so that a host is asked for access once, and that
what fails before the command runs is told apart from what the command does.
"""

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shutil import which
from threading import Thread
from typing import IO

from ingest.errors import BrokenOffError, RemoteError
from ingest.remote.address import Address
from ingest.remote.reasons import explain

CONNECT_SECONDS = 10
# Connecting, greeting, exchange of keys, login: each may take a while.
_LOGIN_SECONDS = 30.0
_PIECE = 1 << 16
_COMPLAINTS = 1 << 16
_ENDS_WITH_US = ("setpriv", "--pdeathsig", "TERM", "--") if which("setpriv") else ()
# What asks with a window of its own: that of a jump host's ssh is no batch mode.
_ASKS_NOBODY = {"SSH_ASKPASS": "/bin/false", "SSH_ASKPASS_REQUIRE": "never"}
# A Unix socket's path holds 107 bytes; ssh adds 17 to it while it makes one.
_LONGEST_FOLDER = 60

_OPTIONS = {
    "BatchMode": "yes",
    "ClearAllForwardings": "yes",
    "Compression": "yes",
    "ConnectTimeout": str(CONNECT_SECONDS),
    "EscapeChar": "none",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    # Below it, ssh keeps why it gives up to itself.
    "LogLevel": "INFO",
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "RequestTTY": "no",
    "ServerAliveCountMax": "3",
    "ServerAliveInterval": "5",
    "Tunnel": "no",
    "UpdateHostKeys": "no",
}


class Output:
    """What a remote command prints, read with a time limit."""

    def __init__(self, pipe: IO[bytes], seconds: float, name: str) -> None:
        self.size = 0
        self.ended = False
        self._pipe = pipe
        self._until = time.monotonic() + seconds
        self._name = name

    def read(self, most: int = _PIECE) -> bytes:
        """Some bytes, at most so many; none at the end. Raises BrokenOffError."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipe, selectors.EVENT_READ)
            if not selector.select(max(0.0, self._until - time.monotonic())):
                raise BrokenOffError(
                    f"{self._name} did not finish in time: try again when it is idle"
                )
        piece = os.read(self._pipe.fileno(), most)
        self.size += len(piece)
        self.ended = not piece
        return piece


class Connection:
    """A login on a remote host, shared by all that is asked of it."""

    def __init__(self, address: Address, config: Path | None, folder: Path) -> None:
        self.address = address
        self._folder = folder
        self._socket = folder / "master"
        self._master: _Ssh | None = None
        self._config = ("-F", str(config)) if config else ()

    @contextmanager
    def master(self) -> Iterator[None]:
        """Log in, and stay until the end; raises RemoteError."""
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
        # What ends a command may be the end of the login, a moment later.
        with suppress(subprocess.TimeoutExpired):
            self._master.process.wait(0.5)
        return self._master.process.poll() is None

    def _wait_for_login(self, ssh: "_Ssh") -> None:
        until = time.monotonic() + _LOGIN_SECONDS
        while not self._socket.exists():
            if ssh.process.poll() is not None:
                raise RemoteError(explain(self.address, ssh.last_lines()))
            if time.monotonic() > until:
                raise RemoteError(
                    f"{self.address} did not let us in within {_LOGIN_SECONDS:g} s: "
                    f"try `ssh {self.address}`"
                )
            time.sleep(0.02)

    @contextmanager
    def run(self, command: str, program: bytes, seconds: float) -> Iterator["Command"]:
        """Run a command over there with a program as its standard input."""
        # Without its master, ssh would connect anew.
        alone = ("-o", "ControlMaster=no", "-o", "ProxyCommand=false")
        argv = (*self._argv(*alone), command)
        with _started(argv, self.address, program) as ssh:
            yield Command(ssh, seconds, str(self.address))

    def forward(self, remote: str) -> Path | None:
        """A socket here that leads to one over there; None where ssh refuses."""
        local = self._folder / "forwarded"
        argv = self._argv("-O", "forward", "-L", f"{local}:{remote}", forwards=True)
        with _started(argv, self.address) as ssh:
            try:
                done = ssh.process.wait(CONNECT_SECONDS) == 0
            except subprocess.TimeoutExpired:
                return None
        return local if done and local.exists() else None

    def _argv(self, *more: str, forwards: bool = False) -> tuple[str, ...]:
        options = {**_OPTIONS, "ControlPath": str(self._socket)}
        if forwards:
            del options["ClearAllForwardings"]
        given = [word for pair in options.items() for word in ("-o", "=".join(pair))]
        user = ("-l", self.address.user) if self.address.user else ()
        port = ("-p", str(self.address.port)) if self.address.port else ()
        # Nothing after "--" is an option.
        where = (*user, *port, "--", self.address.host)
        return ("ssh", *self._config, *given, *more, *where)


class Command:
    """A command at work on a remote host."""

    def __init__(self, ssh: "_Ssh", seconds: float, name: str) -> None:
        assert ssh.process.stdout  # noqa: S101
        self._ssh = ssh
        self.output = Output(ssh.process.stdout, seconds, name)

    def status(self) -> int:
        """How it ended; 255 where the connection broke, or it does not end."""
        with suppress(subprocess.TimeoutExpired):
            return self._ssh.process.wait(CONNECT_SECONDS)
        return 255

    def last_lines(self) -> list[str]:
        """What it complained, the last lines of it."""
        return self._ssh.last_lines()


@contextmanager
def connected(address: Address, config: Path | None = None) -> Iterator[Connection]:
    """A connection that ends with the block; ``config`` stands for ~/.ssh/config.

    Raises RemoteError.
    """
    short = len(tempfile.gettempdir()) <= _LONGEST_FOLDER
    with ExitStack() as stack:
        folder = stack.enter_context(
            # Where the usual folder has a name too long for a socket.
            tempfile.TemporaryDirectory(prefix="st-", dir=None if short else "/tmp")  # noqa: S108
        )
        connection = Connection(address, config, Path(folder))
        stack.enter_context(connection.master())
        yield connection


@contextmanager
def _started(
    argv: tuple[str, ...], address: Address, program: bytes | None = None
) -> Iterator["_Ssh"]:
    try:
        ssh = _Ssh(argv, program)
    except FileNotFoundError:
        raise RemoteError(
            f"ssh is not installed, so {address} cannot be reached: "
            "apt-get install openssh-client"
        ) from None
    try:
        yield ssh
    finally:
        ssh.end()


class _Ssh:
    """A process of ssh; what it complains is kept as it comes, up to a limit."""

    def __init__(self, argv: tuple[str, ...], program: bytes | None) -> None:
        pipe = subprocess.DEVNULL if program is None else subprocess.PIPE
        # A session of its own: an interrupt is ours to pass on. It ends with us.
        self.process = subprocess.Popen(  # noqa: S603
            (*_ENDS_WITH_US, *argv),
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.PIPE,
            env={**os.environ, **_ASKS_NOBODY, "LC_ALL": "C"},
            start_new_session=True,
        )
        self.complaints = bytearray()
        self._threads = [Thread(target=self._listen, daemon=True)]
        if program is not None:
            self._threads += [Thread(target=self._send, args=(program,), daemon=True)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """End it, and whatever it started to get there."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(2.0)
        for thread in self._threads:
            thread.join(2.0)
        if self.process.stdout:
            self.process.stdout.close()

    def last_lines(self) -> list[str]:
        """The last lines of what it complained, once it has ended."""
        self._threads[0].join(1.0)
        lines = bytes(self.complaints).decode(errors="replace").splitlines()
        return [line.strip() for line in lines if line.strip()][-20:]

    def _listen(self) -> None:
        assert self.process.stderr  # noqa: S101
        with self.process.stderr as pipe:
            while piece := os.read(pipe.fileno(), _PIECE):
                self.complaints += piece[: _COMPLAINTS - len(self.complaints)]

    def _send(self, program: bytes) -> None:
        assert self.process.stdin  # noqa: S101
        # A host that hangs up is found out by who reads its answer.
        with suppress(BrokenPipeError), self.process.stdin as pipe:
            pipe.write(program)
