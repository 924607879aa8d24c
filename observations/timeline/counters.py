"""Reads the samples of a run for a timeline, one window of time after another.

Memory holds one window at a time, however long the run is.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

import numpy as np

from core.settings.settings import Settings
from core.stores.points import NO_POINTS, Points
from core.stores.series import SeriesKey, read_points, series_reader
from observations.comparison.run_series import RunSeries
from observations.statistics import rates_of
from ontology.unit_symbols import unit_symbol

# About how many points of all series a window should have.
_MOST_POINTS = 200_000
_FIRST_MS, _LONGEST_MS = 10_000, 3_600_000
_NUMBER = "1"


class SeriesPart(NamedTuple):
    """Some values of one series; each is valid until the next one."""

    series: RunSeries
    points: Points


def unit_of(series: RunSeries) -> str:
    """Return the unit of a series' values; for a counter, that of its rate."""
    symbol = unit_symbol(series.unit) if series.unit else None
    name = (series.unit or "").rpartition("/")[2] if symbol is None else symbol
    return f"{name or _NUMBER}/s" if series.is_counter else name


def values_of(settings: Settings, series: Sequence[RunSeries]) -> Iterator[SeriesPart]:
    """Yield the values of the series of one run, one window after another.

    Counters become rates. Raises SeriesError if the store does not answer.
    """
    before: dict[SeriesKey, Points] = {}
    for points in _windows(settings, series):
        for one in series:
            if new := points.get(one.key):
                drawn, rest = _drawn(one, _joined(before.get(one.key), _finite(new)))
                before[one.key] = rest
                if drawn.values.size:
                    yield SeriesPart(one, drawn)


def _windows(
    settings: Settings, series: Sequence[RunSeries]
) -> Iterator[Mapping[SeriesKey, Points]]:
    """Yield the points of all series, one window after another."""
    one = series[0]
    names = sorted({each.key.name for each in series})
    at, end, length = int(one.start_ms), int(one.end_ms), _FIRST_MS
    with closing(series_reader(settings)) as store:
        while at <= end:
            last = min(at + length - 1, end)
            found = read_points(store, one.host, names, at, last)
            yield found
            size = max(1, sum(points.values.size for points in found.values()))
            length = _next_length(length, size)
            at = last + 1


def _next_length(length: int, size: int) -> int:
    """Return how many ms the next window lasts, if this one had ``size`` points."""
    fitting = length * _MOST_POINTS // size
    return max(1, min(fitting, 8 * length, _LONGEST_MS))


def _joined(before: Points | None, new: Points) -> Points:
    if before is None:
        return new
    return Points(
        np.concatenate([before.stamps, new.stamps]),
        np.concatenate([before.values, new.values]),
    )


def _drawn(series: RunSeries, points: Points) -> tuple[Points, Points]:
    """Return what is drawn of these points, and the points that the next rates need."""
    if not series.is_counter:
        return points, NO_POINTS
    rates = rates_of(points, series.resolution)
    if not rates.stamps.size:
        return NO_POINTS, points
    # A rate is of the interval before its time, but a timeline draws a value from its
    # time on. So each rate gets the time at which its interval begins.
    ends = np.searchsorted(points.stamps, rates.stamps)
    drawn = Points(points.stamps[ends - 1], rates.values)
    return drawn, Points(points.stamps[ends[-1] :], points.values[ends[-1] :])


def _finite(points: Points) -> Points:
    kept = np.isfinite(points.values)
    return Points(points.stamps[kept], points.values[kept])
