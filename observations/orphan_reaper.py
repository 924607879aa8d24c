"""Ends what is left of a command after its runner was killed.

The first process of the command ends with its runner. The processes that it started
live on as orphans, and are found by the last event that listed them. The pid and the
start time in clock ticks since boot identify a process; its session and its children
belong to it.
"""

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PAUSE_SECONDS, _MOST_SECONDS = 0.02, 5.0
# A pid is reused only after all others have been used; assume that takes this long.
_SAME_SECONDS = 60.0
_ENDED = b"ZX"


class ProcessStat(NamedTuple):
    """The fields of a process that the kernel reports."""

    state: bytes
    parent: int
    session: int
    start: int


class Orphans:
    """The processes of a command, by its start and the last event that listed them."""

    def __init__(
        self, started: Mapping[str, Any], last: Mapping[str, Any], uid: int | None
    ) -> None:
        self._uid = uid
        self._leader, first = started["pid"], started["start_ticks"]
        seconds = (last.get("ns", started["exec_ns"]) - started["start_ns"]) / 1e9
        ticks = (seconds + _SAME_SECONDS) * os.sysconf("SC_CLK_TCK")
        self._began = range(first, first + int(ticks))
        starts = zip(last.get("pids", ()), last.get("starts", ()), strict=False)
        self._starts = {**dict(starts), self._leader: first}

    def end(self) -> None:
        """Kill all of them, including those that they fork in the meantime."""
        until = time.monotonic() + _MOST_SECONDS
        while living := self._living():
            for pid in living:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > until:
                return
            time.sleep(_PAUSE_SECONDS)

    def _living(self) -> list[int]:
        processes = _processes(self._uid)
        found = {
            pid for pid, process in processes.items() if self._is_known(pid, process)
        }
        before = -1
        while before < len(found):
            before = len(found)
            sessions = {processes[pid].session for pid in found}
            found |= {
                pid
                for pid, process in processes.items()
                if process.session in sessions or process.parent in found
            }
        self._starts |= {pid: processes[pid].start for pid in found}
        return [pid for pid in found if processes[pid].state not in _ENDED]

    def _is_known(self, pid: int, process: ProcessStat) -> bool:
        is_listed = self._starts.get(pid) == process.start
        return is_listed or (
            process.session == self._leader and process.start in self._began
        )


def end_orphans(
    started: Mapping[str, Any], last: Mapping[str, Any], uid: int | None = None
) -> None:
    """End what is left of a command here; ``last`` is the last event with pids.

    With ``uid``, only processes of that user are ended: a user's own processes can make
    the runner write any pid.
    """
    if started["boot"] == _BOOT.read_text().strip():
        Orphans(started, last, uid).end()


def _processes(uid: int | None) -> dict[int, ProcessStat]:
    found = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208
        with suppress(OSError):
            if uid not in (None, os.stat(f"/proc/{name}").st_uid):  # noqa: PTH116
                continue
            fields = (
                Path(f"/proc/{name}/stat").read_bytes().rpartition(b") ")[2].split()
            )
            found[int(name)] = ProcessStat(
                fields[0], int(fields[1]), int(fields[3]), int(fields[19])
            )
    return found
