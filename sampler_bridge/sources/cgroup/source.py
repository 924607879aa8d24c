"""Samples the control groups that run at a tick; instances are their paths."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from core.linux.cgroups.groups import Cgroup
from core.linux.perf_event import PerfEvent
from sampler_bridge.sources.cgroup.counters import GroupCounters, most_counters
from sampler_bridge.sources.cgroup.exit_source import ExitSource
from sampler_bridge.sources.cgroup.reader import GroupReader
from sampling.account.reasons import GapCause, GapReason
from sampling.sources.cgroup_metrics import cgroup_events, cgroup_metrics
from sampling.sources.source import (
    UNKNOWN_METRIC,
    Gap,
    Sample,
    SampleColumn,
    Series,
)

_DENIED = GapCause(
    GapReason.DENIED,
    "Permission denied: the bridge may not read the files of the cgroup",
)
_LARGEST = 2**63 - 1
_TOO_LARGE = GapCause(GapReason.NOT_STORED, "numbers of 2^63 and more are not stored")


class CgroupProvider(Protocol):
    """Finds the groups that run."""

    def running(self) -> Mapping[str, Cgroup]:
        """The groups that run now, by path."""


class CgroupSource:
    """Reads the values of the groups that ``watch`` finds; always connected.

    A group that is gone has no values, and a group has none of metrics that it does not
    count. Such values do not count as missing.
    """

    connected = True

    def __init__(self, watch: CgroupProvider) -> None:
        self._watch = watch
        self._chosen: tuple[str, ...] = ()
        self._unknown: dict[str, Gap] = {}
        self._readers: dict[str, GroupReader] = {}
        self._exits = ExitSource()
        self._events: dict[str, PerfEvent] = {}
        self._counters: dict[str, GroupCounters] = {}
        self._series: tuple[Series, ...] = ()

    def connect(self) -> None:
        """Do nothing: the values are read from files."""

    def close(self) -> None:
        """Stop counting events and ended tasks; the next `select` starts again."""
        self._exits.select(())
        self._close_counters()

    def _close_counters(self) -> None:
        for counters in self._counters.values():
            counters.close()
        self._counters = {}

    def select(self, metrics: Sequence[str]) -> None:
        """Fetch these metrics from now on."""
        self._chosen = tuple(name for name in metrics if name in cgroup_metrics())
        unknown = set(metrics) - {*self._chosen}
        self._unknown = {name: Gap(UNKNOWN_METRIC, 1) for name in unknown}
        self._readers = {}
        events = {n: e for n, e in cgroup_events().items() if n in self._chosen}
        if events != self._events:
            self._close_counters()
            self._events = events
        self._exits.select(self._chosen)

    def fetch(self) -> Sample:
        """The current values."""
        if not self._chosen:
            return Sample((), self._unknown)
        groups = self._watch.running()
        found, gaps = self._exits.read(groups)
        for path, group in groups.items():
            read = self._reader(path, group).read()
            for name, value in read.values.items():
                if value <= _LARGEST:
                    found[Series(name, path)] = value
                else:
                    _add(gaps, name, _TOO_LARGE)
            for name in read.refused:
                _add(gaps, name, _DENIED)
        if self._events:
            self._count(found, gaps)
        self._forget()
        return Sample(self._columns(found), {**self._unknown, **gaps})

    def _reader(self, path: str, group: Cgroup) -> GroupReader:
        reader = self._readers.get(path)
        if reader is None or reader.group is not group:
            reader = GroupReader(group, self._chosen, reader)
            self._readers[path] = reader
        return reader

    def _count(self, found: dict[Series, int], gaps: dict[str, Gap]) -> None:
        """Add the counts of all groups, and close the counters of those that ended."""
        running = self._watch.running()
        for path, counters in list(self._counters.items()):
            if not (path in running and counters.are_of(running[path])):
                self._counters.pop(path).close()
        for path, group in running.items():
            counts = self._counters_of(path, group).read()
            for name, value in counts.values.items():
                if name in self._chosen:
                    found[Series(name, path)] = value
            for name, cause in counts.gaps.items():
                _add(gaps, name, cause)

    def _counters_of(self, path: str, group: Cgroup) -> GroupCounters:
        counters = self._counters.get(path)
        if counters is None:
            most = most_counters() - sum(one.number for one in self._counters.values())
            counters = GroupCounters(group, self._events, most)
            self._counters[path] = counters
        return counters

    def _forget(self) -> None:
        """Drop the readers of groups that are gone, once they are the majority."""
        running = self._watch.running()
        if len(self._readers) > 2 * len(running) + 16:
            self._readers = {p: r for p, r in self._readers.items() if p in running}

    def _columns(self, found: Mapping[Series, int]) -> tuple[SampleColumn, ...]:
        if not found:
            return ()
        series = tuple(found)
        if series != self._series:
            self._series = series
        # A type that the bridge's own metrics, which are in the same sample, do not
        # have, because the type is the key of the caches for columns.
        return (SampleColumn(self._series, np.array(list(found.values()), np.int64)),)


def _add(gaps: dict[str, Gap], metric: str, cause: GapCause) -> None:
    """Count one more missing value; the first cause applies to all."""
    known = gaps.get(metric, Gap(cause, 0))
    gaps[metric] = Gap(known.cause, known.points + 1)
