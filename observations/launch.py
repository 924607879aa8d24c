"""Builds the program of a run, starts its runner here, and reads any runner's events.

The program is the runner with a request; Python on the host of the run reads it from
its standard input. The input stays open after that: when the other end is closed, the
run is cancelled. This module imports nothing that is slow to load.
"""

import fcntl
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from observations.command_streams import HELD, INPUT
from observations.errors import RunLostError
from observations.orphan_reaper import end_orphans

RunnerEvent = Mapping[str, Any]

PIECE = 1 << 20
_COMPLAINT_BYTES = 4096
_LAST_SECONDS = 10.0
_FUTURE = "from __future__ import annotations\n"
# Read as text, so that callers need not import these modules.
# Sent only if it is requested, and executed with names of its own.
_LOOPS = ("hot_loops/llvm.py", "hot_loops/code.py", "hot_loops/perf.py")
_PROFILE = (*_LOOPS, "profiles/programs.py", "profiles/perf.py")
_OFF_CPU = (*_PROFILE, "profiles/waits.py")
_PARTS = (
    "environment.py",
    "recorder.py",
    "slice_times.py",
    "pop/recording.py",
    "regions/piped.py",
    "regions/recording.py",
    "command_streams.py",
    "command_processes.py",
    "command_start.py",
    "runner.py",
)
# The parts import from each other, which are one program.
_IMPORT = re.compile(r"^from observations\.\S+ import (?:\([^)]*\)|.*)\n", re.MULTILINE)
# Reads and executes the common start, then reads a whole program and executes its
# remainder. The length precedes each part.
START = (
    "import sys, base64, ctypes, hashlib, json, pathlib, select, shutil, subprocess; "
    "_part = lambda: sys.stdin.buffer.read(int(sys.stdin.buffer.readline() or 0)); "
    "_begin = _part(); exec(_begin); _all = _part(); "
    "exec(_all[len(_begin) :] if _all.startswith(_begin) else _all)"
)


def program(request: Mapping[str, object]) -> bytes:
    """Return the runner with a request; ``python3 run.py`` runs it anywhere.

    The request is embedded as data: no part of it is executed as Python.
    """
    text = json.dumps(dict(request), sort_keys=True)
    # All output is written by then and the caller waits for the exit: skip cleanup.
    recorders, loops, begin = (
        "{'pop': TimeRecording, 'regions': RegionRecording}",
        "None",
        "",
    )
    if request.get("hot_loops"):
        loops, begin = "_loops['LoopRecording']", f"_loops = {_sampler(_LOOPS)}\n"
    elif rate := request.get("profile"):
        name, parts = "ProfileRecording", [*_PROFILE]
        if request.get("off_cpu"):
            name, parts = "FullProfileRecording", [*_OFF_CPU]
        recording = f"_loops[{name!r}](env, {int(str(rate))})"
        loops, begin = f"lambda env: {recording}", f"_loops = {_sampler(parts)}\n"
    run = f"run(json.loads({text!r}), CommandEnvironment, {recorders}, {loops})"
    return program_start() + f"\n\n{begin}os._exit({run})\n".encode()


def _sampler(parts: Sequence[str]) -> str:
    """Return an expression whose value maps the names of these parts."""
    text = _IMPORT.sub("", "".join([_FUTURE, *map(_source, parts)]))
    return f"{{}}\nexec({text!r}, _loops)"


def program_start() -> bytes:
    """Return the common start of all programs; alone it does nothing.

    It can be sent ahead, while there is no request yet.
    """
    # The future import may appear only once, at the start.
    return "".join([_FUTURE, *map(_source, _PARTS)]).encode()


def _source(name: str) -> str:
    text = (Path(__file__).parent / name).read_text("utf-8")
    return _IMPORT.sub("", text.replace(_FUTURE, ""))


def framed(part: bytes) -> bytes:
    """Encode a part as START reads it."""
    return b"%d\n%s" % (len(part), part)


class RunnerHandle(Protocol):
    """A runner that has its program."""

    def read(self) -> bytes:
        """Return its new output, at least one byte; empty once it has ended."""

    def release(self) -> None:
        """Tell the runner that the counters were read, so it can reap the command."""

    def cancel(self) -> None:
        """End the command; the runner still reports how it ended."""

    def complaint(self) -> str:
        """Return the last line of error output after its end, or nothing."""


def events(running: RunnerHandle, uid: int | None = None) -> Iterator[RunnerEvent]:
    """Yield a runner's events up to the one that says how the command ended.

    ``uid`` is the user that the runner runs as, if it is not ours. If the runner ends
    without such an event, as when its host stops, end what is left of the command on
    this machine and raise RunLostError.
    """
    rest = b""
    started: RunnerEvent = {}
    last: RunnerEvent = {}
    while piece := running.read():
        *lines, rest = (rest + piece).split(b"\n")
        for event in filter(None, map(_event, lines)):
            started = event if event["event"] == "started" else started
            last = event if "pids" in event else last
            yield event
            if event["event"] in ("ended", "refused"):
                return
    if started:
        end_orphans(started, last, uid)
    complaint = running.complaint()
    why = f": {complaint}" if complaint else ""
    raise RunLostError(f"the run broke off before its command had ended{why}")


def _event(line: bytes) -> RunnerEvent | None:
    """Parse a line of the runner; None for other lines, such as a login banner."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "event" in found else None


def is_alive(started: RunnerEvent) -> bool:
    """Whether the process that a runner on this machine started still exists."""
    try:
        stat = Path(f"/proc/{started['pid']}/stat").read_bytes()
        ticks = int(stat.rpartition(b") ")[2].split()[19])
        return bool(ticks == started["start_ticks"])
    except (OSError, KeyError, IndexError, ValueError):  # nothing was started
        return False


def inherited_environment() -> dict[str, str]:
    """Return our environment without our settings; some are secret."""
    return {k: v for k, v in os.environ.items() if not k.startswith("SUPERTWIN_")}


class ChildRunner:
    """A runner on this machine that was started ahead of its program."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin  # noqa: S101
        assert process.stdout  # noqa: S101
        assert process.stderr  # noqa: S101
        self._in = process.stdin
        self._out, self._err = process.stdout, process.stderr
        with suppress(OSError):  # the user's limit may be lower
            fcntl.fcntl(self._out, fcntl.F_SETPIPE_SZ, PIECE)
        self._send(framed(program_start()))

    def start(self, program: bytes) -> None:
        """Run a program; call this once."""
        self._send(framed(program))

    def read(self) -> bytes:
        """Return its new output."""
        return os.read(self._out.fileno(), PIECE)

    def release(self) -> None:
        """Tell the runner that the counters were read."""
        with suppress(OSError, ValueError):
            self._in.write(b"\n")
            self._in.flush()

    def cancel(self) -> None:
        """End the command."""
        with suppress(BrokenPipeError):
            self._in.close()

    def complaint(self) -> str:
        """Return the last line of its standard error."""
        text = self._err.read()[-_COMPLAINT_BYTES:].decode(errors="replace")
        return last_line(text.split("\n"))

    def _send(self, part: bytes) -> None:
        with suppress(BrokenPipeError):
            self._in.write(part)
            self._in.flush()


@contextmanager
def prestarted_runner(
    environment: Mapping[str, str],
    before: Sequence[str] = (),
    source: int | None = None,
) -> Iterator[ChildRunner]:
    """Start a runner on this machine ahead of its program.

    The runner and its command are ended when the block ends. ``before`` holds the words
    of a command that starts it, such as srun. ``source`` is the descriptor, above 2,
    that the command reads; by default it reads nothing.
    """
    given = [] if source is None else [f"{INPUT}{source}"]
    process = subprocess.Popen(  # noqa: S603
        [*before, sys.executable, "-I", "-S", "-c", START, HELD, *given],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        pass_fds=[] if source is None else [source],
        # We forward interrupts to it ourselves.
        start_new_session=True,
    )
    with process:
        try:
            yield ChildRunner(process)
            # Let srun end by itself: a job that is terminated counts as cancelled.
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LAST_SECONDS if before else 0)
        finally:
            process.terminate()


def last_line(lines: Sequence[str]) -> str:
    """Return the last line that is not blank; empty if there is none."""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
