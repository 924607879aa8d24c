"""Starts the runner on another machine, over ssh."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.linux.ssh.address import Address
from core.linux.ssh.client import OPTIONS, Ssh, ssh_argv
from core.linux.ssh.reasons import explain, printable
from ingest.remote.probe import FIND_PYTHON, NO_PYTHON
from observations.command_streams import HELD
from observations.launch import PIECE, START, RunnerHandle, framed, last_line

_LAST_SECONDS = 5.0
_SSH_FAILED = 255


class _RemoteRunner:
    """A runner reached over ssh."""

    def __init__(self, ssh: Ssh, address: Address) -> None:
        assert ssh.process.stdout  # noqa: S101
        self._ssh, self._address = ssh, address
        self._out = ssh.process.stdout

    def read(self) -> bytes:
        """Return its new output."""
        return os.read(self._out.fileno(), PIECE)

    def release(self) -> None:
        """Tell the runner that the counters were read."""
        self._ssh.say(b"\n")

    def cancel(self) -> None:
        """End the command."""
        self._ssh.release()

    def complaint(self) -> str:
        """Say why ssh failed, or return the last line that came over it."""
        status, lines = self._ssh.wait(_LAST_SECONDS), self._ssh.last_lines()
        if status == _SSH_FAILED:
            return explain(self._address, lines)
        if status == NO_PYTHON:
            return f"{self._address} has no complete Python 3.8 or newer"
        return printable(last_line(lines))


@contextmanager
def remote_runner(
    text: bytes, address: Address, config: Path | None
) -> Iterator[RunnerHandle]:
    """Start a program in a login over ssh; end it when the block ends.

    Raises SshMissingError, SshNotStartedError.
    """
    script = f'{FIND_PYTHON}exec "$p" -ISB -c "{START}" {HELD}'
    words = (*ssh_argv(address, config, OPTIONS), f"exec sh -c '{script}'")
    # The whole program is known already, so there is no part to execute ahead.
    ssh = Ssh(words, address, framed(b"") + framed(text), hold=True)
    try:
        yield _RemoteRunner(ssh, address)
    finally:
        ssh.release()
        ssh.wait(_LAST_SECONDS)
        ssh.end()
