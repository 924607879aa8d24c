"""A process of the system's ssh that never prompts and ends with its parent.

It uses the user's ssh configuration (keys, agents, jump hosts, known hosts). Options
that could prompt or open extra channels are switched off.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread

from core.linux.signals import ends_with_us
from core.linux.ssh.address import Address
from core.linux.ssh.errors import SshMissingError, SshNotStartedError

CONNECT_SECONDS = 10
# The path of a Unix socket holds at most 107 bytes; ssh adds 17 while it creates one.
LONGEST_SOCKET = 90
_PIECE = 1 << 16
_COMPLAINTS = 1 << 16
# Prompts in a window: the ssh of a jump host does not run in batch mode.
_ASKS_NOBODY = {"SSH_ASKPASS": "/bin/false", "SSH_ASKPASS_REQUIRE": "never"}
# Our settings include passwords of stores. Neither ssh nor a program that it starts
# needs them.
_OURS = ("SUPERTWIN", "SAMPLER_BRIDGE")

OPTIONS: Mapping[str, str] = {
    "BatchMode": "yes",
    "ClearAllForwardings": "yes",
    "Compression": "yes",
    "ConnectTimeout": str(CONNECT_SECONDS),
    "EscapeChar": "none",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    # At a lower level, ssh does not say why it gives up.
    "LogLevel": "INFO",
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "RequestTTY": "no",
    "ServerAliveCountMax": "3",
    "ServerAliveInterval": "5",
    "Tunnel": "no",
    "UpdateHostKeys": "no",
}


def ssh_argv(
    address: Address, config: Path | None, options: Mapping[str, str], *more: str
) -> tuple[str, ...]:
    """Build the argument list of ssh; ``config`` replaces ~/.ssh/config."""
    read = ("-F", str(config)) if config else ()
    given = [word for pair in options.items() for word in ("-o", "=".join(pair))]
    user = ("-l", address.user) if address.user else ()
    port = ("-p", str(address.port)) if address.port else ()
    # Nothing after "--" is an option.
    return ("ssh", *read, *given, *more, *user, *port, "--", address.host)


def avoid_vfork() -> None:
    """Let other threads of this process run while it starts a program.

    vfork holds the GIL until the program is loaded. On a busy machine that took
    seconds, in which no host was sampled. Python documents this switch.
    """
    subprocess._USE_VFORK = False  # type: ignore[misc]


class Ssh:
    """An ssh process; the end of its stderr is kept in ``complaints``.

    If ``program`` is given, it is written to the process's standard input, which is
    then closed. With ``hold`` the input stays open until `release`. The process ends
    when the thread that started it ends. Raises SshMissingError, SshNotStartedError.
    """

    def __init__(
        self,
        argv: tuple[str, ...],
        address: Address,
        program: bytes | None = None,
        *,
        hold: bool = False,
    ) -> None:
        pipe = subprocess.DEVNULL if program is None else subprocess.PIPE
        try:
            # A session of its own: we decide whether to pass on an interrupt.
            self.process = subprocess.Popen(  # noqa: S603
                (*ends_with_us(), *argv),
                stdin=pipe,
                stdout=pipe,
                stderr=subprocess.PIPE,
                env=_environment(),
                start_new_session=True,
            )
        except FileNotFoundError:
            raise SshMissingError(
                f"ssh is not installed, so {address} cannot be reached: "
                "apt-get install openssh-client"
            ) from None
        except OSError as error:
            raise SshNotStartedError(error) from error
        self.complaints = bytearray()
        self._hold = hold
        self._threads: list[Thread] = []
        self._begin(self._listen)
        if program is not None:
            self._begin(self._send, program)

    def wait(self, seconds: float | None = None) -> int | None:
        """Return the exit status; None if the process does not end within the time."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """End the process and everything in its process group."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(2.0)
        for thread in self._threads:
            thread.join(2.0)
        if self.process.stdout:
            self.process.stdout.close()

    def say(self, words: bytes) -> None:
        """Write words to the standard input, after the program; needs ``hold``."""
        assert self.process.stdin  # noqa: S101
        with suppress(OSError, ValueError):
            self.process.stdin.write(words)
            self.process.stdin.flush()

    def release(self) -> None:
        """Close the standard input."""
        assert self.process.stdin  # noqa: S101
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def last_lines(self) -> list[str]:
        """Return the last lines of stderr; they are final once the process ended."""
        if self.process.poll() is not None:
            self._threads[0].join(1.0)
        lines = bytes(self.complaints).decode(errors="replace").splitlines()
        return [line.strip() for line in lines if line.strip()][-20:]

    def _begin(self, work: Callable[..., None], *given: bytes) -> None:
        thread = Thread(target=work, args=given, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            self.end()
            for pipe in (self.process.stdin, self.process.stderr):
                if pipe:
                    pipe.close()
            raise SshNotStartedError(error) from error
        self._threads.append(thread)

    def _listen(self) -> None:
        assert self.process.stderr  # noqa: S101
        with self.process.stderr as pipe:
            while piece := os.read(pipe.fileno(), _PIECE):
                self.complaints += piece
                # The end says why the process ended.
                del self.complaints[:-_COMPLAINTS]

    def _send(self, program: bytes) -> None:
        assert self.process.stdin  # noqa: S101
        # If the host closes the connection, the reader of its output notices.
        with suppress(BrokenPipeError):
            self.process.stdin.write(program)
            self.process.stdin.flush()
        if not self._hold:
            self.release()


def _environment() -> dict[str, str]:
    """Return our environment without our settings, with prompts switched off."""
    others = {k: v for k, v in os.environ.items() if not k.startswith(_OURS)}
    return {**others, **_ASKS_NOBODY, "LC_ALL": "C"}
