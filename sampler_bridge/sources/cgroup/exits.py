"""Adds up tasks that ended, by control group, including those that lived 3 ms."""

import os
import select
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import accumulate
from threading import Lock

from core.linux.taskstats import ExitSocket, TaskExit
from sampler_bridge.worker import Worker
from sampling.sources.cgroup_exits import EXITS, HOST
from sampling.sources.source import Series

# A task whose folder in /proc is gone counts to its parent's groups. These are cached,
# because a shell may start thousands of programs.
_KEEP_SECONDS, _MOST_PARENTS = 1.0, 4096
_ROOT = frozenset("/")


@dataclass
class ExitTotals:
    """The sums of tasks that ended: their number, and times in ns."""

    tasks: int = 0
    cpu: int = 0
    cpu_delay: int = 0
    io_delay: int = 0
    swap_delay: int = 0
    reclaim_delay: int = 0

    def add(self, one: TaskExit) -> None:
        """Add a task."""
        self.tasks += 1
        self.cpu += one.cpu
        self.cpu_delay += one.cpu_delay
        self.io_delay += one.io_delay
        self.swap_delay += one.swap_delay
        self.reclaim_delay += one.reclaim_delay


class ExitCounter(Worker):
    """Adds up ended tasks of the host and of watched groups.

    A task counts to its group and to all groups above it. ``unplaced`` counts the tasks
    that are only in the totals of the host, because neither their own group nor their
    parent's could be read.
    """

    def __init__(self, source: ExitSocket) -> None:
        super().__init__("exits")
        self._socket = source
        self._alarm = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._lock = Lock()
        self._groups: dict[str, ExitTotals] = {}
        self._parents: dict[int, tuple[float, frozenset[str]]] = {}
        self.host = ExitTotals()
        self.unplaced = 0

    def watch(self, paths: Iterable[str]) -> None:
        """Count for these groups, and forget all others."""
        with self._lock:
            before = self._groups
            self._groups = {one: before.get(one) or ExitTotals() for one in paths}

    def collect(self) -> None:
        """Add all tasks that ended since the last call."""
        with self._lock:
            for one in self._socket.take():
                self.host.add(one)
                paths = groups_of(one.tid)
                if paths <= _ROOT:
                    paths = self._of_parent(one.parent) or paths
                self.unplaced += not paths
                for path in self._watched(paths):
                    self._groups[path].add(one)

    def values(self) -> dict[Series, int]:
        """All totals; those of the host have the instance ``/``."""
        self.collect()
        with self._lock:
            totals = {HOST: self.host, **self._groups}
            found = {
                Series(f"{EXITS}{name}", path): value
                for path, one in totals.items()
                for name, value in asdict(one).items()
            }
        found[Series(f"{EXITS}unplaced", HOST)] = self.unplaced
        found[Series(f"{EXITS}lost", HOST)] = self._socket.lost()
        return found

    def stop(self, seconds: float) -> None:
        """End, within ``seconds``."""
        os.eventfd_write(self._alarm, 1)
        self._join(seconds)
        if not self.alive:
            self._socket.close()
            os.close(self._alarm)

    def _work(self) -> None:
        """Collect after each exit at once, while the task's group can still be read."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        poll.register(self._alarm, select.POLLIN)
        while self._alarm not in dict(poll.poll()):
            self.collect()

    def _of_parent(self, parent: int) -> frozenset[str]:
        now = time.monotonic()
        until, paths = self._parents.get(parent, (0.0, frozenset()))
        if now < until:
            return paths
        if len(self._parents) >= _MOST_PARENTS:
            self._parents.clear()
        paths = groups_of(parent)
        self._parents[parent] = now + _KEEP_SECONDS, paths
        return paths

    def _watched(self, paths: Iterable[str]) -> set[str]:
        """The watched groups among these and those above them."""
        above = {one for path in paths for one in accumulate(path.split("/"), _below)}
        return above & self._groups.keys()


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}"


def groups_of(task: int) -> frozenset[str]:
    """The paths of a task's groups in all hierarchies; empty if the task is gone.

    The kernel shows an ended task at the root of each hierarchy of version 1, but
    not in ``cpuset``. If nothing else is known of those, only ``/`` is returned.
    """
    found = [line.split(":", 2) for line in _lines(task, "cgroup")]
    older = {words[2] for words in found if len(words) == 3 and words[0] != "0"}
    if older and older <= _ROOT:
        older |= {*_lines(task, "cpuset")}
        if older <= _ROOT:
            return _ROOT
    return frozenset(older | {words[2] for words in found if len(words) == 3})


def _lines(task: int, name: str) -> list[str]:
    try:
        with open(f"/proc/{task}/{name}", errors="surrogateescape") as file:  # noqa: PTH123
            return file.read().splitlines()
    except OSError:
        return []
