"""Counts the events of the processes in control groups, on all CPUs."""

import errno
import os
import resource
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from core.linux.cgroups.groups import UNIFIED, Cgroup, parse_cpus
from core.linux.perf_event import Count, PerfEvent, open_counter, read_counter
from sampling.account.reasons import GapCause, GapReason
from sampling.sources.cgroup_metrics import COUNTED, cgroup_events

_ONLINE = Path("/sys/devices/system/cpu/online")
_PERF = "perf_event"
_DENIED = GapCause(
    GapReason.DENIED,
    "the bridge lacks the right to count events: it needs CAP_PERFMON, or "
    "`sysctl kernel.perf_event_paranoid=0`",
)
_UNSUPPORTED = GapCause(GapReason.UNSUPPORTED, "this machine does not count the event")
_TOO_MANY = GapCause(
    GapReason.OTHER,
    "too many counters of cgroups: raise the bridge's limit of open files (ulimit -n)",
)
_BUSY = GapCause(GapReason.ABSENT, "all counters of the CPU count other events")
_CAUSES = {
    **dict.fromkeys((errno.EACCES, errno.EPERM), _DENIED),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), _TOO_MANY),
}
_ZERO = Count(0, 0, 0)


class GroupCounts(NamedTuple):
    """Values by metric, and the causes why other metrics have none."""

    values: Mapping[str, int]
    gaps: Mapping[str, GapCause]


@dataclass
class _Counter:
    """The counters of one event, one for each CPU, and their last values.

    If a CPU has fewer counters than events, the kernel counts the events in turns. Each
    increase between two reads is scaled to the whole time between them, and added to
    ``total``, so that ``total`` never decreases. ``enabled`` and ``running`` are the ns
    since the previous read, summed over the CPUs.
    """

    opened: list[int]
    last: list[Count] = field(default_factory=list)
    total: float = 0.0
    enabled: int = 0
    running: int = 0

    def read(self) -> None:
        now = [read_counter(one) for one in self.opened]
        self.enabled = self.running = 0
        for new, old in zip(now, self.last or [_ZERO] * len(now), strict=True):
            enabled, running = new.enabled - old.enabled, new.running - old.running
            if running:
                self.total += (new.value - old.value) * enabled / running
            self.enabled += enabled
            self.running += running
        self.last = now


class GroupCounters:
    """The counters of one group, to be closed when the group is gone.

    ``most`` is the number of counters that may still be opened.
    """

    def __init__(
        self, group: Cgroup, events: Mapping[str, PerfEvent], most: int
    ) -> None:
        self.group = group
        self._counters: dict[str, _Counter] = {}
        self._refused: dict[str, GapCause] = {}
        with _opened(folder_of(group)) as folder:
            if folder is not None:
                for name, event in events.items():
                    self._open(name, event, folder, most - self.number)

    def are_of(self, group: Cgroup) -> bool:
        """Whether a group is the counted one, perhaps with other folders elsewhere."""
        common = self.group.numbers.items() & group.numbers.items()
        return bool(common) and folder_of(self.group) == folder_of(group)

    @property
    def number(self) -> int:
        """How many counters are open."""
        return sum(len(one.opened) for one in self._counters.values())

    def read(self) -> GroupCounts:
        """The counts since the counters were opened, and the counted share of time."""
        values, gaps, shares = {}, dict(self._refused), []
        for name, counter in self._counters.items():
            counter.read()
            if counter.enabled and not counter.running:
                gaps[name] = _BUSY
                continue
            values[name] = int(counter.total)
            shares.append(counter.running / counter.enabled if counter.enabled else 1)
        if shares:
            values[COUNTED] = round(100 * min(shares))
        return GroupCounts(values, gaps)

    def close(self) -> None:
        """Close all counters."""
        for counter in self._counters.values():
            _close(counter.opened)
        self._counters = {}

    def _open(self, name: str, event: PerfEvent, folder: int, most: int) -> None:
        opened: list[int] = []
        try:
            for cpu in online_cpus():
                if len(opened) >= most:
                    raise OSError(errno.EMFILE, "")
                opened.append(open_counter(event, folder, cpu))
        except OSError as error:
            _close(opened)
            self._refused[name] = _CAUSES.get(error.errno or 0, _UNSUPPORTED)
        else:
            self._counters[name] = _Counter(opened)


def folder_of(group: Cgroup) -> str | None:
    """The group's folder in the hierarchy that counts events."""
    return group.folders.get(_PERF) or group.folders.get(UNIFIED)


@cache
def countable(root: str) -> frozenset[str]:
    """The metrics whose events can be counted, or could be with more rights or files.

    ``root`` is the top folder of the hierarchy that counts events.
    """
    found: set[str] = set()
    with _opened(root) as folder:
        if folder is not None:
            events = cgroup_events().items()
            found = {name for name, event in events if _is_countable(event, folder)}
    return frozenset(found | {COUNTED} if found else ())


def _is_countable(event: PerfEvent, folder: int) -> bool:
    try:
        os.close(open_counter(event, folder, online_cpus()[0]))
    except OSError as error:
        return error.errno in _CAUSES
    return True


@cache
def online_cpus() -> tuple[int, ...]:
    """The CPUs to count on: those that were online when this was first called."""
    return parse_cpus(_ONLINE.read_text()) or (0,)


@cache
def most_counters() -> int:
    """How many counters may be open: half of the files that the bridge may open.

    Raises the bridge's limit as far as it may.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2


@contextmanager
def _opened(folder: str | None) -> Iterator[int | None]:
    """Open a folder, and yield its descriptor; None if it cannot be opened."""
    opened = None
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY | os.O_CLOEXEC) if folder else None
    try:
        yield opened
    finally:
        if opened is not None:
            os.close(opened)


def _close(counters: Iterable[int]) -> None:
    for counter in counters:
        os.close(counter)
