"""The bridge as a source: its account and cost, all of one moment."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sampling.sources.own_metrics import DOMAINS, OWN_METRICS, PREFIX, OwnMetric
from sampling.sources.source import (
    NO_VALUE,
    UNKNOWN_METRIC,
    Gap,
    Sample,
    SampleColumn,
    Series,
)

Figures = Mapping[str, Any]
_NAMED = {metric.name: metric for metric in OWN_METRICS}
_DTYPES = {"u64": np.uint64, "double": np.float64}


class OwnSource:
    """Gives ``figures`` as the metrics of ``own_metrics``; always connected."""

    connected = True

    def __init__(self, figures: Callable[[], Figures]) -> None:
        self._figures = figures
        self._unknown: dict[str, Gap] = {}
        self._chosen: list[OwnMetric] = []
        self._series: dict[str, tuple[Series, ...]] = {}

    def connect(self) -> None:
        """Do nothing: the source is this process."""

    def close(self) -> None:
        """Do nothing: the source is this process."""

    def select(self, metrics: Sequence[str]) -> None:
        """Fetch these metrics from now on."""
        known = [name for name in metrics if name in _NAMED]
        unknown = set(metrics) - set(known)
        self._unknown = {name: Gap(UNKNOWN_METRIC, 1) for name in unknown}
        self._chosen = [_NAMED[name] for name in known]
        self._series = {}

    def fetch(self) -> Sample:
        """The current figures; a latency has no value before the first call."""
        figures, missing = self._figures(), dict(self._unknown)
        found: dict[str, dict[Series, float]] = {type_: {} for type_ in _DTYPES}
        for metric in self._chosen:
            values = _values(metric, figures)
            found[metric.type] |= values
            if not values:
                points = len(DOMAINS[metric.domain]) if metric.domain else 1
                missing[metric.name] = Gap(NO_VALUE, points)
        columns = [self._column(type_, values) for type_, values in found.items()]
        return Sample(tuple(filter(None, columns)), missing)

    def _column(
        self, type_: str, values: Mapping[Series, float]
    ) -> SampleColumn | None:
        if not values:
            return None
        series = tuple(values)
        if self._series.get(type_) != series:
            self._series[type_] = series
        numbers = np.array(list(values.values()), _DTYPES[type_])
        return SampleColumn(self._series[type_], numbers)


def _values(metric: OwnMetric, figures: Figures) -> dict[Series, float]:
    value = _FIGURES[metric.name.removeprefix(PREFIX)](figures)
    if value is None:
        return {}
    if metric.domain is None:
        return {Series(metric.name, None): value}
    return {Series(metric.name, name): number for name, number in value.items()}


def _uncounted(figures: Figures) -> float:
    absence = figures["uncounted"]
    return float(absence["seconds"]) if absence else 0.0


def _clock(figures: Figures) -> Mapping[str, float]:
    return figures["clock_seconds"] or {}


_FIGURES: Mapping[str, Callable[[Figures], Any]] = {
    "points.expected": lambda figures: figures["expected"],
    "points.fetched": lambda figures: figures["fetched"],
    "points.written": lambda figures: figures["written"],
    "points.missing": lambda figures: figures["reasons"],
    "points.resent": lambda figures: figures["resent"],
    "points.carried": lambda figures: figures["carried"],
    "queue.points": lambda figures: figures["queue"]["points"],
    "queue.bytes": lambda figures: figures["queue"]["bytes"],
    "sent.bytes": lambda figures: figures["sent_bytes"],
    "fetch.seconds": lambda figures: figures["fetch_seconds"],
    "write.seconds": lambda figures: figures["write_seconds"],
    "tick.offset": lambda figures: figures["tick_offset_seconds"],
    "tick.spread": lambda figures: figures["tick_spread_seconds"],
    "clock.ahead": lambda figures: _clock(figures).get("ahead"),
    "clock.uncertainty": lambda figures: _clock(figures).get("uncertainty"),
    "cpu": lambda figures: round(figures["cpu_seconds"] * 1000),
    "rss": lambda figures: figures["rss_bytes"],
    "uncounted": _uncounted,
}
