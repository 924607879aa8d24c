"""Starts a command in its folder and on its CPUs, or says why it cannot be started.

This is a part of the runner's program, as `observations.recorder` is.
"""

from __future__ import annotations

import errno
import os
import pwd
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, Iterable, NamedTuple

from observations.command_processes import prctl
from observations.command_streams import HELD, INPUT

_SET_PDEATHSIG = 1


class Refused(Exception):  # noqa: N818
    """The command cannot be started; nothing has run."""


class StartedCommand(NamedTuple):
    """The first process of a command; it started between two times, in ns."""

    process: subprocess.Popen[bytes]
    start_ns: int
    exec_ns: int


def start_command(request: dict[str, Any], env: dict[str, str]) -> StartedCommand:
    """Start the command of a request; raises Refused."""
    source = _input()
    start_ns = time.time_ns()
    try:
        _enter(request.get("cwd"), request.get("within") or ["/"])
        process = subprocess.Popen(  # noqa: S603
            request["argv"],
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            start_new_session=True,
            preexec_fn=partial(_become, os.getpid(), set(request.get("cpus") or ())),
        )
    except OSError as error:
        raise Refused(_why_not(request, error)) from None
    except subprocess.SubprocessError:
        raise Refused(_why_no_place(request)) from None
    # Some of our own time lies between the request to start and the exec.
    exec_ns = time.time_ns()
    if source is not None and source >= 0:  # lets its writer get EPIPE
        os.close(source)
    return StartedCommand(process, start_ns, exec_ns)


def leave_cpus(cpus: Iterable[int]) -> None:
    """Move this process off the command's CPUs, unless the command takes all."""
    others = os.sched_getaffinity(0) - set(cpus)
    if others:
        os.sched_setaffinity(0, others)


def user_name() -> str:
    """Return the name of the user that the command runs as, or its number."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container may have numeric ids only
        return str(os.geteuid())


def _input() -> int | None:
    """Return what the command reads, as Popen takes it."""
    for word in sys.argv:
        if word.startswith(INPUT):
            return int(word[len(INPUT) :])
    return subprocess.DEVNULL if HELD in sys.argv else None


def _enter(cwd: str | None, within: list[str]) -> None:
    """Change to the command's folder, and check it after links are resolved."""
    if cwd is None:
        return
    os.chdir(cwd)
    if not any(_is_below(os.getcwd(), os.path.realpath(one)) for one in within):  # noqa: PTH109
        raise Refused(
            f"the folder {cwd!r} is {os.getcwd()!r}, which is not allowed: give a "  # noqa: PTH109
            f"folder in {' or '.join(within)}"
        )


def _become(runner: int, cpus: set[int]) -> None:
    """Prepare the new process before it executes the command."""
    prctl(_SET_PDEATHSIG, signal.SIGKILL)
    # The kernel sends nothing for a runner that has already ended.
    if os.getppid() != runner or not _bind_to(cpus):
        raise OSError


def _why_not(request: dict[str, Any], error: OSError) -> str:
    command, cwd = request["argv"][0], request.get("cwd")
    if error.filename == cwd and cwd is not None:
        return f"the folder {cwd!r} cannot be entered: {error.strerror}"
    if error.errno == errno.ENOENT:
        return f"there is no command {command!r}: give its path, or fix PATH"
    if error.errno == errno.E2BIG:
        return "arguments and environment are too long: put them into a file"
    return f"{command!r} cannot be run: {error.strerror}"


def _why_no_place(request: dict[str, Any]) -> str:
    """Say why the new process could not be set up."""
    cpus = set(request.get("cpus") or ())
    if absent := cpus - _online():
        return f"CPUs {_list(absent)} are not online: choose others"
    return f"CPUs {_list(cpus)} are not all allowed here: choose others"


def _is_below(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


def _bind_to(cpus: set[int]) -> bool:
    """Restrict this process to these CPUs; False if some are not allowed."""
    if not cpus:
        return True
    try:
        os.sched_setaffinity(0, cpus)
    except OSError:
        return False
    return os.sched_getaffinity(0) == cpus


def _online() -> set[int]:
    text = Path("/sys/devices/system/cpu/online").read_text().strip()
    spans = [part.split("-") for part in text.split(",")]
    return {n for span in spans for n in range(int(span[0]), int(span[-1]) + 1)}


def _list(numbers: Iterable[int]) -> str:
    return ",".join(map(str, sorted(numbers)))
