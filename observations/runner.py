"""Runs one command and reports its progress in JSON lines.

It needs only Python 3.8 or newer, so that it can be sent to the host of the command; a
last line that calls `run` completes the program. The command is an argument vector and
runs in its own session. Processes that it leaves behind are adopted and ended: none
outlives the run. If the reader of the lines ends, the run is cancelled.

Times are Unix time in ns, sizes are in bytes.
"""

from __future__ import annotations

import base64
import ctypes
import errno
import fcntl
import json
import os
import pwd
import resource
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Protocol

HEARTBEAT_SECONDS = 1.0
# If HELD is among the arguments, the end of standard input cancels the run, and so does
# CANCEL on it. Any other line says that an ended command can be reaped.
HELD, CANCEL = "held", b"cancel"
# The number of the descriptor that the command reads. Without this argument it reads
# nothing if HELD is given, and otherwise our standard input.
INPUT = "input="
_PIECE = 1 << 18
# Formatted without json: the data may be large and needs no escaping.
_OUTPUT = b'{"event": "output", "stream": "%s", "data": "%s"}\n'
_STDIN = 0
_REMAINING_SECONDS = 2.0
# How long an ended command stays a zombie, so that its counters can be read.
_LOOK_SECONDS = 2.0
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ, which Python 3.8 does not name
_ENDINGS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_RUSAGE = {
    "ru_utime": "user_seconds",
    "ru_stime": "system_seconds",
    "ru_maxrss": "max_rss_kib",
    "ru_minflt": "minor_faults",
    "ru_majflt": "major_faults",
    "ru_nvcsw": "voluntary_switches",
    "ru_nivcsw": "involuntary_switches",
}


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


class Recording(Protocol):
    """Records what a command does while it runs."""

    variables: dict[str, str]
    # A descriptor that `read` reads when it has data.
    pipe: int | None

    def read(self) -> None:
        """Read what the command has written."""

    def times(self) -> dict[str, Any]:
        """Return what was recorded, once the command has ended."""


class LoopRecording(Protocol):
    """Samples where a command computes; ``pid`` is the process that does so, or 0."""

    pid: int

    def begin(self) -> None:
        """Start to sample the processes that this process will start."""

    def end(self) -> None:
        """Stop sampling."""

    def loops(self, beat: Callable[[], None]) -> dict[str, Any]:
        """Return the hot loops; calls ``beat`` between the steps."""

    def discard(self) -> None:
        """Remove what was recorded."""


# Takes the environment of a command.
RecordLoops = Callable[[Dict[str, str]], LoopRecording]

# Takes what is requested, the argument vector and the environment of a command.
Record = Callable[[Dict[str, Any], List[str], Dict[str, str]], Recording]


class Refused(Exception):
    """The command cannot be started; nothing has run."""


class TruncatedStream:
    """The first and the last ``most`` bytes of a stream, and its size so far.

    The first bytes, or with ``show_all`` all bytes, are reported immediately.
    """

    def __init__(self, pipe: int, most: int, show_all: bool) -> None:
        self.pipe = pipe
        self.size = 0
        self.open = True
        self._most, self._show_all = most, show_all
        with suppress(OSError):  # the user's limit may be lower
            fcntl.fcntl(pipe, _SET_PIPE_SIZE, _PIECE)
        self._head, self._tail = bytearray(), bytearray()

    def read(self) -> bytes:
        """Read what is available; return the part to report immediately."""
        piece = os.read(self.pipe, _PIECE)
        self.open = bool(piece)
        self.size += len(piece)
        first = piece[: self._most - len(self._head)]
        self._head += first
        self._tail += piece[len(first) :]
        del self._tail[: -self._most or None]
        return piece if self._show_all else first

    def document(self) -> dict[str, Any]:
        """Return head and tail in base64; ``cut`` bytes between them were dropped."""
        return {
            "bytes": self.size,
            "head": base64.b64encode(self._head).decode(),
            "tail": base64.b64encode(self._tail).decode(),
            "cut": self.size - len(self._head) - len(self._tail),
        }


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
        self._cancelled = ""
        self._next_beat = 0.0
        self._held = HELD in sys.argv
        self._is_over = self._were_counters_read = False
        self._wake, write = os.pipe()
        for end in (self._wake, write):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(write)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in _ENDINGS:
            signal.signal(number, lambda n, _: self._cancel(signal.Signals(n).name))
        _prctl(_SET_CHILD_SUBREAPER, 1)
        _leave(request.get("cpus") or ())
        self._loops: LoopRecording | None = None
        if loops and request.get("hot_loops"):
            self._loops = loops(self._environment())
        self._process = self._started_and_sampled()
        # Read now: the output that this process keeps later adds to its peak.
        self._own_kib = _own_peak_kib()
        self._usage: resource.struct_rusage | None = None
        most = int(request.get("keep_bytes", 1 << 20))
        show_all = bool(request.get("show_all"))
        assert self._process.stdout
        assert self._process.stderr
        self._streams = {
            "stdout": TruncatedStream(self._process.stdout.fileno(), most, show_all),
            "stderr": TruncatedStream(self._process.stderr.fileno(), most, show_all),
        }

    def follow(self) -> None:
        """Report events until the command and all that it left behind have ended."""
        seconds = self._request.get("timeout")
        until = None if seconds is None else time.monotonic() + seconds
        timed_out = not self._wait(until)
        if timed_out:
            self._end()
        ended_ns, self._is_over = time.time_ns(), True
        self._hold_for_counters(ended_ns)
        if self._loops:  # before all others of our children are reaped
            self._loops.end()
        status = self._reap()
        left = self._end_others()
        self._read_remaining()
        if self._setup:
            self._say("about", **self._setup.whole())
        for name, recording in self._recordings.items():
            self._say(name, **recording.times())
        if self._loops:
            self._say("hot_loops", **self._loops.loops(self._keep_alive))
        _tell(
            "ended",
            end_ns=ended_ns,
            exit=os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            timed_out=timed_out and not self._cancelled,
            cancelled=self._cancelled,
            left_behind=left,
            rusage=_rusage(self._usage, self._own_kib),
            output={name: kept.document() for name, kept in self._streams.items()},
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
        if self._loops is None:
            return self._started()
        self._loops.begin()
        try:
            return self._started()
        except Refused:
            self._loops.end()
            self._loops.discard()
            raise

    def _started(self) -> subprocess.Popen[bytes]:
        request = self._request
        source = _input()
        start_ns = time.time_ns()
        try:
            self._enter()
            process = subprocess.Popen(
                request["argv"],
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment(),
                start_new_session=True,
                preexec_fn=partial(self._become, os.getpid()),
            )
        except OSError as error:
            raise Refused(_why_not(request, error)) from None
        except subprocess.SubprocessError:
            raise Refused(_why_no_place(request)) from None
        # Some of our own time lies between the request to start and the exec.
        exec_ns = time.time_ns()
        identity = {**_identity(process.pid), "user": _user()}
        self._say("started", start_ns=start_ns, exec_ns=exec_ns, **identity)
        if source is not None and source >= 0:  # lets its writer get EPIPE
            os.close(source)
        return process

    def _enter(self) -> None:
        """Change to the command's folder, and check it after links are resolved."""
        cwd = self._request.get("cwd")
        if cwd is None:
            return
        os.chdir(cwd)
        within = self._request.get("within") or ["/"]
        if not any(_is_below(os.getcwd(), os.path.realpath(one)) for one in within):  # noqa: PTH109
            raise Refused(
                f"the folder {cwd!r} is {os.getcwd()!r}, which is not allowed: give a "  # noqa: PTH109
                f"folder in {' or '.join(within)}"
            )

    def _become(self, runner: int) -> None:
        """Prepare the new process before it executes the command."""
        _prctl(_SET_PDEATHSIG, signal.SIGKILL)
        # The kernel sends nothing for a runner that has already ended.
        if os.getppid() != runner or not _bind_to(set(self._request.get("cpus") or ())):
            raise OSError

    def _cancel(self, reason: str) -> None:
        """Mark the run as cancelled, unless the command is over."""
        if not self._is_over:
            self._cancelled = self._cancelled or reason

    def _wait(self, until: float | None) -> bool:
        """Read output and send heartbeats until the command is over; False: end it."""
        heartbeat, is_first = time.monotonic() + HEARTBEAT_SECONDS, True
        while True:
            if self._has_ended():
                return True
            now = time.monotonic()
            if self._cancelled or (until is not None and now >= until):
                return False
            if now >= heartbeat:
                if is_first and self._setup:  # in case contact is lost
                    self._say("about", **self._setup.facts())
                heartbeat, is_first = now + HEARTBEAT_SECONDS, False
                self._beat(**self._pids())
            self._read(min(heartbeat, until or heartbeat) - now)

    def _keep_alive(self) -> None:
        """Send a sign of life if one is due."""
        if time.monotonic() >= self._next_beat:
            self._beat()

    def _beat(self, **pids: list[int]) -> None:
        """Send a sign of life."""
        self._next_beat = time.monotonic() + HEARTBEAT_SECONDS
        sizes = {name: kept.size for name, kept in self._streams.items()}
        self._say("alive", ns=time.time_ns(), **pids, **sizes)

    def _say(self, event: str, **what: Any) -> None:
        """Report an event; if nobody reads it any more, cancel the command."""
        try:
            _tell(event, **what)
        except OSError:
            self._cancel("its client has disconnected")

    def _pids(self) -> dict[str, list[int]]:
        """List the run's processes; start times, in clock ticks, detect reused pids."""
        found = _descendants()
        own = self._process.pid
        others = (own, self._loops.pid if self._loops else 0)
        pids = [own, *(pid for pid in found if pid not in others)]
        return {"pids": pids, "starts": [found.get(pid, 0) for pid in pids]}

    def _hold_for_counters(self, ended_ns: int) -> None:
        """Keep the ended command as a zombie until its counters were read."""
        if not self._request.get("look"):
            return
        self._say("over", ns=ended_ns, **self._pids())
        until = time.monotonic() + _LOOK_SECONDS
        while self._held and not self._were_counters_read and time.monotonic() < until:
            self._read(until - time.monotonic())

    def _read(self, seconds: float) -> None:
        """Wait for output, a signal or the timeout; report what is due immediately."""
        streams = {k.pipe: (name, k) for name, k in self._streams.items() if k.open}
        recorded = {r.pipe: r for r in self._recordings.values() if r.pipe is not None}
        held = [_STDIN] if self._held else []
        waited = [self._wake, *held, *streams, *recorded]
        ready, _, _ = select.select(waited, [], [], max(seconds, 0.0))
        for pipe in ready:
            if pipe == _STDIN:
                self._read_commands()
            elif pipe in recorded:
                recorded[pipe].read()
            elif pipe == self._wake:
                with suppress(BlockingIOError):
                    os.read(self._wake, _PIECE)
            else:
                self._pass_on(*streams[pipe])

    def _pass_on(self, name: str, stream: TruncatedStream) -> None:
        """Report new output of the command, unless it is being ended."""
        piece = stream.read()
        if piece and not self._cancelled:
            with suppress(OSError):
                _write(_OUTPUT % (name.encode(), base64.b64encode(piece)))

    def _read_commands(self) -> None:
        """Handle input: a line says that counters were read, EOF cancels the run."""
        received = b""
        with suppress(OSError):  # the connection failed
            received = os.read(_STDIN, _PIECE)
        if received and CANCEL not in received:
            self._were_counters_read = True
        else:
            self._held = False
            self._cancel("SuperTwin cancelled it or disconnected")

    def _has_ended(self) -> bool:
        """Whether the command is over; it stays a zombie until it is reaped."""
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, how) is not None

    def _reap(self) -> int:
        """Reap the ended command and return its status."""
        _, status, self._usage = os.wait4(self._process.pid, 0)
        self._process.returncode = status
        return status

    def _end(self) -> None:
        """End the command: SIGTERM first, then SIGKILL."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            until = time.monotonic() + float(self._request.get("grace", 5.0))
            while time.monotonic() < until:
                if self._has_ended():
                    return
                self._read(min(0.05, until - time.monotonic()))
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)

    def _end_others(self) -> list[dict[str, Any]]:
        """End the processes that the command left behind; return which these were."""
        if not _reap_any():  # any process that is left would be our adopted child
            return []
        left = [{"pid": pid, "name": _name(pid)} for pid in _descendants()]
        self._signal_others(signal.SIGTERM, is_repeated=False)
        self._signal_others(signal.SIGKILL, is_repeated=True)
        return left

    def _signal_others(self, number: int, is_repeated: bool) -> None:
        """Signal remaining processes, and those that they fork, until none is left."""
        signalled: set[int] = set()
        until = time.monotonic() + _REMAINING_SECONDS
        while _reap_any() and time.monotonic() < until:
            found = set(_descendants())
            _signal(found if is_repeated else found - signalled, number)
            signalled |= found
            self._read(0.02)

    def _read_remaining(self) -> None:
        until = time.monotonic() + _REMAINING_SECONDS
        while any(k.open for k in self._streams.values()) and time.monotonic() < until:
            self._read(0.05)


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
    recorder of each member that asks for a recording; with ``hot_loops``, ``loops``
    samples where it computes.
    """
    try:
        if missing := [n for n in request.get("private", ()) if n not in os.environ]:
            raise Refused(
                f"set {', '.join(missing)}: the run had it, and its value is private"
            )
        CommandRun(request, about, record or {}, loops).follow()
    except Refused as error:
        _tell("refused", reason=str(error))
        return 2
    return 0


def _tell(event: str, **what: Any) -> None:
    """Write an event; raises OSError if nobody reads it any more."""
    _write((json.dumps({"event": event, **what}) + "\n").encode())


def _write(line: bytes) -> None:
    rest = memoryview(line)
    while rest:  # a signal may cut a write short
        rest = rest[os.write(1, rest) :]


def _input() -> int | None:
    """Return what the command reads, as Popen takes it."""
    for word in sys.argv:
        if word.startswith(INPUT):
            return int(word[len(INPUT) :])
    return subprocess.DEVNULL if HELD in sys.argv else None


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


def _leave(cpus: Iterable[int]) -> None:
    """Move this process off the command's CPUs, unless the command takes all."""
    others = os.sched_getaffinity(0) - set(cpus)
    if others:
        os.sched_setaffinity(0, others)


def _online() -> set[int]:
    text = Path("/sys/devices/system/cpu/online").read_text().strip()
    spans = [part.split("-") for part in text.split(",")]
    return {n for span in spans for n in range(int(span[0]), int(span[-1]) + 1)}


def _list(numbers: Iterable[int]) -> str:
    return ",".join(map(str, sorted(numbers)))


def _identity(pid: int) -> dict[str, Any]:
    """Return boot id, pid and start in clock ticks, which identify a process."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return {"pid": pid, "start_ticks": int(fields[19]), "boot": boot}


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container may have numeric ids only
        return str(os.geteuid())


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def _descendants() -> dict[int, int]:
    """Return the start times, by pid, of all processes below this one."""
    children: dict[int, list[int]] = {}
    starts: dict[int, int] = {}
    # No Path for hundreds of processes: the start of the run waits for this.
    for name in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123
            fields = stat.read().rpartition(b") ")[2].split()
            children.setdefault(int(fields[1]), []).append(int(name))
            starts[int(name)] = int(fields[19])
    found: dict[int, int] = {}
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        waiting += below
        found.update((pid, starts[pid]) for pid in below)
    return found


def _signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _reap_any() -> bool:
    """Reap all children that have ended; whether any child is left."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


def _rusage(usage: Any, own_kib: int) -> dict[str, float | None]:
    """Return the usage of the command, including children that it waited for."""
    found = {name: getattr(usage, key) for key, name in _RUSAGE.items()}
    # Linux counts the fork of this process before the exec: a peak that does not exceed
    # our own is only an upper bound of the command's.
    is_bound = found["max_rss_kib"] <= own_kib
    found["max_rss_bound_kib"] = found["max_rss_kib"] if is_bound else None
    found["max_rss_kib"] = None if is_bound else found["max_rss_kib"]
    return found


def _own_peak_kib() -> int:
    """Return the peak memory of this process, without that of its parent."""
    words = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()
    # Some sandboxes lack this line.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(words[0]) if words else peak


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
