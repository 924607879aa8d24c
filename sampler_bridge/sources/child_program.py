"""A program of ours that reads or attaches something in the kernel, and its pipes."""

import os
import select
import subprocess
from collections.abc import Sequence
from pathlib import Path

from sampling.errors import SourceDownError

_PATIENCE_MS = 10_000  # as long as PCP waits for PMCD


class ChildProgram:
    """The running program; raises SourceDownError if it does not start."""

    def __init__(self, command: Sequence[Path | str]) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
            )
        except OSError as error:
            raise SourceDownError(f"{command[0]}: {error.strerror}") from error
        assert self._process.stdin and self._process.stdout  # noqa: S101
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self._poll = select.poll()
        self._poll.register(self._answers, select.POLLIN)

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def send(self, request: bytes) -> None:
        """Write a request; raises SourceDownError."""
        try:
            self._requests.write(request)
        except OSError as error:
            raise SourceDownError(str(error.strerror)) from error

    def receive(self, most: int) -> bytes:
        """What it wrote, at most so many bytes, once there is something.

        Raises SourceDownError if it has ended, or writes nothing for 10 s.
        """
        if not self._poll.poll(_PATIENCE_MS):
            raise SourceDownError("no answer")
        if found := os.read(self._answers.fileno(), most):
            return found
        raise SourceDownError("it ended")

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.wait()
        self._requests.close()
        self._answers.close()
