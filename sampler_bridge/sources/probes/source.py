"""Probes as a source: what each has counted at a tick."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sampler_bridge.sources.probes.probe_set import ProbeSet
from sampler_bridge.sources.probes.prober import Counts
from sampling.account.reasons import GapCause, GapReason
from sampling.probes.definition import CodeProbe
from sampling.sources.probe_metrics import (
    BOUNDS,
    CALLS,
    LATENCY,
    MISSED,
    SHED,
    TIME,
    TIMED,
    bucket_instance,
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
}


class ProbeSource:
    """The counts of the probes of a set; always connected.

    A probe that only counts calls has no values of the other metrics: they are not
    missing. A probe that could not be attached is a gap in the calls.
    """

    connected = True

    def __init__(self, probes: ProbeSet) -> None:
        self._probes = probes
        self._chosen: tuple[str, ...] = ()
        self._unknown: dict[str, Gap] = {}
        self._series: tuple[Series, ...] = ()

    def connect(self) -> None:
        """Do nothing: the set starts its program."""

    def close(self) -> None:
        """Do nothing: other sources may use the set."""

    def select(self, metrics: Sequence[str]) -> None:
        """Fetch these metrics from now on."""
        known = {*_VALUES, LATENCY.name}
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
                found |= _values(metric, probe, counts)
        return Sample(self._columns(found), {**self._unknown, **self._gaps()})

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


def _values(metric: str, probe: CodeProbe, counts: Counts) -> dict[Series, int]:
    if not probe.times and metric != CALLS.name:
        return {}
    if metric in _VALUES:
        return {Series(metric, probe.name): _VALUES[metric](counts)}
    return {
        Series(metric, bucket_instance(probe.name, bound)): number
        for bound, number in zip(BOUNDS, counts.buckets, strict=True)
    }
