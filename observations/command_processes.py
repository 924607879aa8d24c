"""Finds and ends the processes of a command, also those that it leaves behind.

This is a part of the runner's program, as `observations.recorder` is.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Collection, Iterable

_OTHERS_SECONDS = 2.0
_SET_CHILD_SUBREAPER = 36
_RUSAGE = {
    "ru_utime": "user_seconds",
    "ru_stime": "system_seconds",
    "ru_maxrss": "max_rss_kib",
    "ru_minflt": "minor_faults",
    "ru_majflt": "major_faults",
    "ru_nvcsw": "voluntary_switches",
    "ru_nivcsw": "involuntary_switches",
}


class CommandProcesses:
    """The first process of a command, and all processes below this one.

    ``read`` reads the command's output for some seconds while we wait: a process that
    cannot write does not end.
    """

    def __init__(self, pid: int, read: Callable[[float], None]) -> None:
        self._pid, self._read = pid, read
        # Read now: the output that this process keeps later adds to its peak.
        self._own_kib = _own_peak_kib()

    def listed(self, but: Collection[int]) -> dict[str, list[int]]:
        """List all but these; start times, in clock ticks, detect reused pids."""
        found = _descendants()
        pids = [self._pid, *(pid for pid in found if pid not in (self._pid, *but))]
        return {"pids": pids, "starts": [found.get(pid, 0) for pid in pids]}

    def has_ended(self) -> bool:
        """Whether the command is over; it stays a zombie until it is reaped."""
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._pid, how) is not None

    def end(self, grace: float) -> None:
        """End the command: SIGTERM first, then SIGKILL after ``grace`` seconds."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self._pid, number)
            until = time.monotonic() + grace
            while time.monotonic() < until:
                if self.has_ended():
                    return
                self._read(min(0.05, until - time.monotonic()))
        os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)

    def reap(self) -> tuple[int, dict[str, float | None]]:
        """Reap the ended command; return its status and what it used."""
        _, status, usage = os.wait4(self._pid, 0)
        return status, _rusage(usage, self._own_kib)

    def end_others(self) -> list[dict[str, Any]]:
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
        until = time.monotonic() + _OTHERS_SECONDS
        while _reap_any() and time.monotonic() < until:
            found = set(_descendants())
            _signal(found if is_repeated else found - signalled, number)
            signalled |= found
            self._read(0.02)


def adopt_orphans() -> None:
    """Become the parent of processes below this one whose parent ends."""
    prctl(_SET_CHILD_SUBREAPER, 1)


def identity(pid: int) -> dict[str, Any]:
    """Return boot id, pid and start in clock ticks, which identify a process."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return {"pid": pid, "start_ticks": int(fields[19]), "boot": boot}


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


def prctl(option: int, value: int) -> None:
    """Call prctl(2) of this process."""
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
