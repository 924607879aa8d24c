"""Starts a runner on this machine that outlives the process that follows it.

They communicate through the run's folder. The runner writes its events to a file that
it keeps locked while it lives, and reads commands from a named pipe; it holds both ends
of the pipe.
"""

import fcntl
import os
import pwd
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from observations.command_streams import CANCEL, HELD
from observations.errors import LaunchError
from observations.launch import PIECE, RunnerHandle, last_line

_EVENTS, _COMMANDS, _ERRORS = "said.jsonl", "told", "complaint.txt"
_LOOK_SECONDS = 0.02
_PATH, _UMASK = "/usr/local/bin:/usr/bin:/bin", 0o022
# Runs a program that another user cannot open by its path.
_READ = "exec(compile(open({}, 'rb').read(), 'run.py', 'exec'))"


class _LocalRunner:
    """A runner that reads and writes files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._printed = (folder / _EVENTS).open("rb", buffering=0)

    def read(self) -> bytes:
        """Return its new output."""
        while True:
            # Check this before reading: after the runner has ended, its output is
            # complete.
            lives = self._lives()
            if (piece := self._printed.read(PIECE)) or not lives:
                return piece
            time.sleep(_LOOK_SECONDS)

    def release(self) -> None:
        """Tell the runner that the counters were read."""
        self._send(b"\n")

    def cancel(self) -> None:
        """End the command."""
        self._send(CANCEL + b"\n")

    def complaint(self) -> str:
        """Return the last line of its standard error."""
        text = (self._folder / _ERRORS).read_text(errors="replace")
        return last_line(text.split("\n"))

    def close(self) -> None:
        """Stop following it."""
        self._printed.close()

    def _lives(self) -> bool:
        try:
            fcntl.flock(self._printed, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(self._printed, fcntl.LOCK_UN)
        return False

    def _send(self, line: bytes) -> None:
        with suppress(OSError):  # the runner has ended
            pipe = os.open(self._folder / _COMMANDS, os.O_WRONLY | os.O_NONBLOCK)
            try:
                os.write(pipe, line)
            finally:
                os.close(pipe)


def was_started(folder: Path) -> bool:
    """Whether a runner was started in a folder and not followed to its end."""
    return (folder / _EVENTS).exists()


@contextmanager
def local_runner(
    folder: Path, name: str, environment: Mapping[str, str], user: str = ""
) -> Iterator[RunnerHandle]:
    """Follow the program ``name`` in a folder; start it first if that has not happened.

    With ``user``, that user runs it, in a fresh environment. If the block fails, the
    command is ended.
    """
    process = None if was_started(folder) else _start(folder, name, environment, user)
    running = _LocalRunner(folder)
    try:
        yield running
    except BaseException:
        running.cancel()
        raise
    finally:
        if process:
            process.wait()
        running.close()
        for left in (_EVENTS, _COMMANDS, _ERRORS):
            (folder / left).unlink(missing_ok=True)


def _start(
    folder: Path, name: str, environment: Mapping[str, str], user: str
) -> subprocess.Popen[bytes]:
    (folder / _COMMANDS).unlink(missing_ok=True)  # left by a runner that was killed
    os.mkfifo(folder / _COMMANDS, 0o600)
    with (
        (folder / name).open("rb") as program,
        (folder / _ERRORS).open("wb") as errors,
        (folder / _EVENTS).open("wb") as printed,
    ):
        fcntl.flock(printed, fcntl.LOCK_EX)
        commands = os.open(folder / _COMMANDS, os.O_RDWR)
        files: Mapping[str, Any] = {
            "stdin": commands,
            "stdout": printed,
            "stderr": errors,
        }
        try:
            if user:
                return _start_as(user, program.fileno(), files)
            return subprocess.Popen(  # noqa: S603
                [sys.executable, "-I", "-S", program.name, HELD],
                env=environment,
                start_new_session=True,
                **files,
            )
        finally:
            os.close(commands)


def _start_as(
    user: str, program: int, files: Mapping[str, Any]
) -> subprocess.Popen[bytes]:
    """Start a program as another user; raises LaunchError."""
    known = pwd.getpwnam(user)
    home = known.pw_dir if Path(known.pw_dir).is_dir() else "/"
    # Resolve a virtual environment: the user may have no access to its folder.
    python = os.path.realpath(sys.executable)
    try:
        return subprocess.Popen(  # noqa: S603
            [python, "-I", "-S", "-c", _READ.format(program), HELD],
            user=known.pw_uid,
            group=known.pw_gid,
            extra_groups=os.getgrouplist(user, known.pw_gid),
            umask=_UMASK,
            cwd=home,
            env=_environment_of(known),
            pass_fds=[program],
            start_new_session=True,
            **files,
        )
    except OSError as error:
        raise LaunchError(
            f"{user} cannot run {python}: {error.strerror}: install Python where "
            "every user may run it"
        ) from None


def _environment_of(user: pwd.struct_passwd) -> Mapping[str, str]:
    """Return a basic login environment of the user: our own may contain secrets."""
    names = {"USER": user.pw_name, "LOGNAME": user.pw_name}
    return {**names, "HOME": user.pw_dir, "SHELL": user.pw_shell, "PATH": _PATH}
