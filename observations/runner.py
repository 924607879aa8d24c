"""Runs one command and reports its progress in JSON lines.

It needs only Python 3.8 or newer, so that it can be sent to the host of the command; a
last line that calls `run` completes the program. `observations.launch` lists its parts.
The command is an argument vector and runs in its own session. Processes that it leaves
behind are adopted and ended: none outlives the run. If the reader of the lines ends,
the run is cancelled.

Times are Unix time in ns, sizes are in bytes.
"""

from __future__ import annotations

import os
import subprocess
import time
from typing import Any, Callable, Collection, Dict, Iterable, List, Optional, Protocol

from observations.command_processes import CommandProcesses, adopt_orphans, identity
from observations.command_start import Refused, leave_cpus, start_command, user_name
from observations.command_streams import CommandStreams, PipeReader, tell

HEARTBEAT_SECONDS = 1.0
# How long an ended command stays a zombie, so that its counters can be read.
_LOOK_SECONDS = 2.0


class CommandSetup(Protocol):
    """Describes what a command runs in and is made of."""

    def facts(self) -> dict[str, Any]:
        """Return the facts that are quick to read."""

    def whole(self) -> dict[str, Any]:
        """Return the same, with the facts that take longer."""


# Takes the argument vector, environment, folder and CPUs of a command.
About = Callable[
    [List[str], Dict[str, str], Optional[str], Iterable[int]], CommandSetup
]


class Recording(PipeReader, Protocol):
    """Records what a command does while it runs."""

    variables: dict[str, str]

    def times(self) -> dict[str, Any]:
        """Return what was recorded, and remove its files; call this once."""


class LoopRecording(Protocol):
    """Samples where a command computes.

    ``member`` is that of the request, and the name of the event with what was found.
    """

    member: str

    @property
    def pids(self) -> Collection[int]:
        """The processes that sample now."""

    def begin(self) -> None:
        """Start to sample the processes that this process will start."""

    def end(self) -> None:
        """Stop sampling."""

    def recorded(self, beat: Callable[[], None]) -> dict[str, Any]:
        """Return what was found; calls ``beat`` between the steps."""

    def discard(self) -> None:
        """Remove what was recorded."""


# Takes the environment of a command.
RecordLoops = Callable[[Dict[str, str]], LoopRecording]

# Takes what is requested, the argument vector and the environment of a command.
Record = Callable[[Dict[str, Any], List[str], Dict[str, str]], Recording]


class CommandRun:
    """One command, from its start to the end of every process that it started."""

    def __init__(
        self,
        request: dict[str, Any],
        about: About | None,
        record: dict[str, Record],
        loops: RecordLoops | None,
    ) -> None:
        self._request = request
        self._recordings: dict[str, Recording] = {}
        for name in filter(request.get, record):
            wanted, environment = request[name], self._environment()
            self._recordings[name] = record[name](wanted, request["argv"], environment)
        self._setup = about and self._collect_setup(about)
        self._next_beat = 0.0
        self._streams = CommandStreams(self._recordings.values())
        adopt_orphans()
        leave_cpus(request.get("cpus") or ())
        self._loops: LoopRecording | None = None
        if loops:
            self._loops = loops(self._environment())
        self._process = self._started_and_sampled()
        self._processes = CommandProcesses(self._process.pid, self._streams.read)
        assert self._process.stdout
        assert self._process.stderr
        self._streams.add_outputs(
            {
                "stdout": self._process.stdout.fileno(),
                "stderr": self._process.stderr.fileno(),
            },
            int(request.get("keep_bytes", 1 << 20)),
            bool(request.get("show_all")),
        )

    def follow(self) -> None:
        """Report events until the command and all that it left behind have ended."""
        seconds = self._request.get("timeout")
        until = None if seconds is None else time.monotonic() + seconds
        timed_out = not self._wait(until)
        if timed_out:
            self._processes.end(float(self._request.get("grace", 5.0)))
        ended_ns, self._streams.is_over = time.time_ns(), True
        self._hold_for_counters(ended_ns)
        if self._loops:  # before all others of our children are reaped
            self._loops.end()
        status, used = self._processes.reap()
        self._process.returncode = status
        left = self._processes.end_others()
        self._streams.read_remaining()
        self._say_what_was_recorded()
        tell(
            "ended",
            end_ns=ended_ns,
            exit=os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            timed_out=timed_out and not self._streams.cancelled,
            cancelled=self._streams.cancelled,
            left_behind=left,
            rusage=used,
            output=self._streams.documents(),
        )

    def _collect_setup(self, about: About) -> CommandSetup:
        """Collect facts about the command; keeps its program open as it is now."""
        request = self._request
        cpus = request.get("cpus") or os.sched_getaffinity(0)
        return about(request["argv"], self._environment(), request.get("cwd"), cpus)

    def _environment(self) -> dict[str, str]:
        found = {**os.environ, **self._request.get("env", {})}
        for recording in self._recordings.values():
            found.update(recording.variables)
        return found

    def _started_and_sampled(self) -> subprocess.Popen[bytes]:
        """Start the command; sample it from its first instruction."""
        if self._loops:
            self._loops.begin()
        try:
            return self._started()
        except Refused:
            self._discard()
            raise

    def _discard(self) -> None:
        """Remove what was prepared for a command that cannot be started."""
        for recording in self._recordings.values():
            recording.times()
        if self._loops:
            self._loops.end()
            self._loops.discard()

    def _started(self) -> subprocess.Popen[bytes]:
        process, start_ns, exec_ns = start_command(self._request, self._environment())
        named = {**identity(process.pid), "user": user_name()}
        self._streams.say("started", start_ns=start_ns, exec_ns=exec_ns, **named)
        return process

    def _wait(self, until: float | None) -> bool:
        """Read output and send heartbeats until the command is over; False: end it."""
        heartbeat, is_first = time.monotonic() + HEARTBEAT_SECONDS, True
        while True:
            if self._processes.has_ended():
                return True
            now = time.monotonic()
            if self._streams.cancelled or (until is not None and now >= until):
                return False
            if now >= heartbeat:
                if is_first and self._setup:  # in case contact is lost
                    self._streams.say("about", **self._setup.facts())
                heartbeat, is_first = now + HEARTBEAT_SECONDS, False
                self._beat(**self._pids())
            self._streams.read(min(heartbeat, until or heartbeat) - now)

    def _say_what_was_recorded(self) -> None:
        if self._setup:
            self._streams.say("about", **self._setup.whole())
        for name, recording in self._recordings.items():
            self._streams.say(name, **recording.times())
        if self._loops:
            found = self._loops.recorded(self._keep_alive)
            self._streams.say(self._loops.member, **found)

    def _keep_alive(self) -> None:
        """Send a sign of life if one is due."""
        if time.monotonic() >= self._next_beat:
            self._beat()

    def _beat(self, **pids: list[int]) -> None:
        """Send a sign of life."""
        self._next_beat = time.monotonic() + HEARTBEAT_SECONDS
        self._streams.say("alive", ns=time.time_ns(), **pids, **self._streams.sizes)

    def _pids(self) -> dict[str, list[int]]:
        return self._processes.listed(but=self._loops.pids if self._loops else ())

    def _hold_for_counters(self, ended_ns: int) -> None:
        """Keep the ended command as a zombie until its counters were read."""
        if not self._request.get("look"):
            return
        streams = self._streams
        streams.say("over", ns=ended_ns, **self._pids())
        until = time.monotonic() + _LOOK_SECONDS
        while (
            streams.is_held
            and not streams.were_counters_read
            and time.monotonic() < until
        ):
            streams.read(until - time.monotonic())


def run(
    request: dict[str, Any],
    about: About | None = None,
    record: dict[str, Record] | None = None,
    loops: RecordLoops | None = None,
) -> int:
    """Run what the request asks for; 0 if it ran, whatever the outcome, 2 if not.

    The request holds ``argv`` and optionally ``cwd``, which must be in one of
    ``within``, ``env`` (added), ``cpus``, ``timeout`` and ``grace`` (seconds). The
    first and the last ``keep_bytes`` of each stream are kept; the first, or with
    ``show_all`` all bytes, are reported immediately. With ``look``, the ended command
    stays a zombie until a line comes, at most two seconds. ``private`` are variables
    that must be set. ``about`` collects facts about the command, and ``record`` has the
    recorder of each member that asks for a recording; ``loops`` samples where it
    computes, for hot loops or a profile.
    """
    try:
        if missing := [n for n in request.get("private", ()) if n not in os.environ]:
            raise Refused(
                f"set {', '.join(missing)}: the run had it, and its value is private"
            )
        CommandRun(request, about, record or {}, loops).follow()
    except Refused as error:
        tell("refused", reason=str(error))
        return 2
    return 0
