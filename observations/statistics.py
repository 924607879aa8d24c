"""Statistics of a series during a run.

A counter is summarised by its rates between neighbouring ticks. Its total is the growth
between two readings, one just before and one just after the run. Without these
readings, it is the growth from the last tick before the run to the first one after it;
it then includes what other processes did in the fractions of a period before and after
the run.

A tick may be fetched up to half a period late, so a rate may exceed what is possible:
it is then set to the greatest possible rate, and counted as bounded. If the source
updates a counter less often than it was sampled, its rates span at least the time
between two updates. Any other series is summarised by its values within the run.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from core.stores.points import NO_POINTS, Points, Stamps, Values
from ontology.limits import BEYOND


@dataclass(frozen=True)
class Span:
    """Start and end of a run, in Unix milliseconds with fractions."""

    start_ms: float
    end_ms: float

    @property
    def seconds(self) -> float:
        """The duration."""
        return (self.end_ms - self.start_ms) / 1000


@dataclass(frozen=True)
class Statistics:
    """Figures of a series during a run, in its unit; None if there were too few ticks.

    All figures of a counter except ``total`` are per second.

    ``samples``: ticks within the run. ``covered``: seconds that the total covers.
    ``bounded``: rates, including the mean, that exceeded what is possible.
    """

    samples: int
    minimum: float | None = None
    mean: float | None = None
    maximum: float | None = None
    median: float | None = None
    p95: float | None = None
    total: float | None = None
    covered: float | None = None
    bounded: int = 0


@dataclass(frozen=True)
class CounterGrowth:
    """The growth of a counter between two readings around a run, seconds apart."""

    total: float
    seconds: float


def of_counter(
    points: Points,
    span: Span,
    growth: CounterGrowth | None = None,
    resolution: float | None = None,
    greatest: float | None = None,
) -> Statistics:
    """Rates and total of a counter; after a reset it counts from zero again.

    ``resolution``: seconds between two updates by its source, if longer than the
    period. ``greatest``: the greatest possible rate.
    """
    limit = np.inf if greatest is None else greatest
    found = _of_ticks(points, span, resolution, limit)
    if growth is not None:
        mean = growth.total / growth.seconds if growth.seconds > 0 else None
        found = replace(found, mean=mean, total=growth.total, covered=growth.seconds)
    if found.mean is None or found.mean <= limit * BEYOND:
        return found
    return replace(found, mean=limit, bounded=found.bounded + 1)


def _of_ticks(
    points: Points, span: Span, resolution: float | None, limit: float
) -> Statistics:
    around = _around(points, span)
    samples = _within(points, span).values.size
    if around.values.size < 2:
        return Statistics(samples)
    covered = float(around.stamps[-1] - around.stamps[0]) / 1000
    total = float(_grown(around.values).sum())
    rates = rates_of(_within(points, span), resolution).values
    spread = _spread(np.minimum(rates, limit))
    bounded = int(np.count_nonzero(rates > limit * BEYOND))
    spread |= {"mean": total / covered, "bounded": bounded}
    return Statistics(samples, **spread, total=total, covered=covered)


def rates_of(
    points: Points, resolution: float | None = None, period_ms: float | None = None
) -> Points:
    """Return the rates of a counter, each at the tick that ends its step.

    ``resolution``: seconds between two updates by its source, if longer than the
    period. Each rate is then that between the two updates around its step; steps before
    the first and after the last update are left out if they are too short for a rate.
    ``period_ms``: the period of the ticks, if the points do not include every tick.
    """
    if points.stamps.size < 2:
        return NO_POINTS
    grown, stamps = _grown(points.values), points.stamps
    if resolution is None:
        return Points(stamps[1:], 1000 * grown / np.diff(stamps))
    # A tick may see an update up to half a period off, so allow that much less.
    apart = 1000 * resolution - (period_ms or float(np.median(np.diff(stamps)))) / 2
    places = _updates(np.flatnonzero(grown) + 1, stamps, apart)
    times, sums = stamps[places], np.concatenate([[0.0], np.cumsum(grown)])[places]
    rates = np.repeat(1000 * np.diff(sums) / np.diff(times), np.diff(places))
    return Points(stamps[places[0] + 1 : places[-1] + 1], rates)


def _grown(values: Values) -> Values:
    """Return a counter's growth in each step; after a reset it counts from zero."""
    steps = np.diff(values)
    return np.where(steps < 0, values[1:], steps)


def _updates(updates: npt.NDArray[np.intp], stamps: Stamps, apart: float) -> list[int]:
    """Indices of updates at least ``apart`` ms apart, plus ends as far away."""
    times = stamps[updates].tolist()
    found, place = [], 0
    while place < len(times):
        found.append(int(updates[place]))
        place = bisect_left(times, times[place] + apart, place + 1)
    last = stamps.size - 1
    if not found or stamps[found[0]] - stamps[0] >= apart:
        found.insert(0, 0)
    if stamps[last] - stamps[found[-1]] >= apart:
        found.append(last)
    return found


def of_gauge(points: Points, span: Span) -> Statistics:
    """Statistics of the values within a run."""
    values = _within(points, span).values
    return Statistics(values.size, **_spread(values))


def _spread(values: Values) -> dict[str, Any]:
    if not values.size:
        return {}
    median, p95 = np.quantile(values, [0.5, 0.95])
    return {
        "minimum": float(values.min()),
        "mean": float(values.mean()),
        "maximum": float(values.max()),
        "median": float(median),
        "p95": float(p95),
    }


def _within(points: Points, span: Span) -> Points:
    first, last = np.searchsorted(points.stamps, [span.start_ms, span.end_ms])
    last += int(last < points.stamps.size and points.stamps[last] == span.end_ms)
    return Points(points.stamps[first:last], points.values[first:last])


def _around(points: Points, span: Span) -> Points:
    """From the last tick at or before the start to the first at or after the end."""
    before = int(np.searchsorted(points.stamps, span.start_ms, "right")) - 1
    last = int(np.searchsorted(points.stamps, span.end_ms, "left")) + 1
    first = max(before, 0)
    return Points(points.stamps[first:last], points.values[first:last])
