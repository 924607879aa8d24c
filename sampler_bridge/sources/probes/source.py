"""Probes as a source: what each has counted at a tick."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from sampler_bridge.sources.probes.cgroup_names import CgroupNames
from sampler_bridge.sources.probes.probe_set import ProbeSet
from sampler_bridge.sources.probes.prober import Counts, KeyCounts
from sampling.account.reasons import GapCause, GapReason
from sampling.probes.definition import CodeProbe
from sampling.sources.probe_metrics import (
    ARGUMENT,
    ARGUMENT_BOUNDS,
    BOUNDS,
    BY_CALLS,
    BY_SHED,
    BY_TIME,
    BY_TIMED,
    CALLS,
    LATENCY,
    MISSED,
    PROBE_METRICS,
    SHED,
    TIME,
    TIMED,
    UNREAD,
    bucket_instance,
    key_instance,
)
from sampling.sources.source import (
    UNKNOWN_METRIC,
    Gap,
    Sample,
    SampleColumn,
    Series,
)

_VALUES: Mapping[str, Callable[[Counts], int]] = {
    CALLS.name: lambda counts: counts.calls,
    TIMED.name: lambda counts: counts.timed,
    TIME.name: lambda counts: counts.nanoseconds,
    SHED.name: lambda counts: counts.shed,
    MISSED.name: lambda counts: counts.missed,
    UNREAD.name: lambda counts: counts.unread,
    BY_SHED.name: lambda counts: counts.unkeyed,
}
_BY: Mapping[str, Callable[[KeyCounts], int]] = {
    BY_CALLS.name: lambda counts: counts.calls,
    BY_TIMED.name: lambda counts: counts.timed,
    BY_TIME.name: lambda counts: counts.nanoseconds,
}
# Metrics that only a probe of the kind has.
_OF_TIMED = {TIMED.name, TIME.name, SHED.name, MISSED.name, LATENCY.name}
_OF_TIMED |= {BY_TIMED.name, BY_TIME.name}
_OF_KEYS = {*_BY, BY_SHED.name}
_OF_ARGUMENT = {ARGUMENT.name, UNREAD.name}


class ProbeSource:
    """The counts of the probes of a set; always connected.

    A probe that does not time calls, has no keys or no argument has no values of the
    metrics of these: they are not missing. A probe that could not be attached is a gap
    in the calls.
    """

    connected = True

    def __init__(self, probes: ProbeSet) -> None:
        self._probes = probes
        self._chosen: tuple[str, ...] = ()
        self._unknown: dict[str, Gap] = {}
        self._series: tuple[Series, ...] = ()
        self._groups = CgroupNames()

    def connect(self) -> None:
        """Do nothing: the set starts its program."""

    def close(self) -> None:
        """Do nothing: other sources may use the set."""

    def select(self, metrics: Sequence[str]) -> None:
        """Fetch these metrics from now on."""
        known = {metric.name for metric in PROBE_METRICS}
        self._chosen = tuple(name for name in metrics if name in known)
        unknown = set(metrics) - known
        self._unknown = {name: Gap(UNKNOWN_METRIC, 1) for name in unknown}

    def fetch(self) -> Sample:
        """The current counts."""
        if not self._chosen:
            return Sample((), self._unknown)
        found: dict[Series, int] = {}
        for probe, counts in self._probes.read():
            for metric in self._chosen:
                found |= self._values(metric, probe, counts)
        return Sample(self._columns(found), {**self._unknown, **self._gaps()})

    def _values(
        self, metric: str, probe: CodeProbe, counts: Counts
    ) -> dict[Series, int]:
        if not _has(probe, metric):
            return {}
        if metric in _VALUES:
            return {Series(metric, probe.name): _VALUES[metric](counts)}
        if metric in _BY:
            return self._by_key(metric, probe, counts.keys)
        if metric == ARGUMENT.name:
            return _buckets(metric, probe, ARGUMENT_BOUNDS, counts.arguments)
        return _buckets(metric, probe, BOUNDS, counts.buckets)

    def _by_key(
        self, metric: str, probe: CodeProbe, keys: Mapping[int, KeyCounts]
    ) -> dict[Series, int]:
        names: Mapping[int, object] = {key: key for key in keys}
        if probe.by == "cgroup":
            names = self._groups.names(keys)
        found: dict[Series, int] = {}
        for key, counts in keys.items():
            series = Series(metric, key_instance(probe.name, probe.by, names[key]))
            # A group that was made again has another number.
            found[series] = found.get(series, 0) + _BY[metric](counts)
        return found

    def _gaps(self) -> dict[str, Gap]:
        reasons = self._probes.reasons()
        if not reasons or CALLS.name not in self._chosen:
            return {}
        name, reason = next(iter(reasons.items()))
        cause = GapCause(GapReason.ABSENT, f"probe {name}: {reason}")
        return {CALLS.name: Gap(cause, len(reasons))}

    def _columns(self, found: Mapping[Series, int]) -> tuple[SampleColumn, ...]:
        if not found:
            return ()
        series = tuple(found)
        if series != self._series:
            self._series = series
        numbers = np.array(list(found.values()), np.uint64)
        return (SampleColumn(self._series, numbers),)


def _has(probe: CodeProbe, metric: str) -> bool:
    """Whether a probe has values of a metric."""
    return (
        (probe.times or metric not in _OF_TIMED)
        and (bool(probe.by) or metric not in _OF_KEYS)
        and (bool(probe.argument) or metric not in _OF_ARGUMENT)
    )


def _buckets(
    metric: str, probe: CodeProbe, bounds: Iterable[str], counts: Iterable[int]
) -> dict[Series, int]:
    return {
        Series(metric, bucket_instance(probe.name, bound)): number
        for bound, number in zip(bounds, counts, strict=True)
    }
