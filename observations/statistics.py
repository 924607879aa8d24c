"""What a series did during a run, in a few numbers.

A counter is looked at through its rates between neighbouring ticks. Its total is what
it grew by between two readings just before and just after the run; where there are
none, from the last tick before it to the first one after it: whatever the run did is in
there, and beside it what others did in the fractions of a period before and after.
Anything else is looked at by its values within the run.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Stamps = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Points:
    """A series: Unix milliseconds in order, and values; both of shape (n,)."""

    stamps: Stamps
    values: Values


NO_POINTS = Points(np.zeros(0, np.int64), np.zeros(0))


@dataclass(frozen=True)
class Span:
    """From when to when a run went, in Unix milliseconds with fractions."""

    start_ms: float
    end_ms: float

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.end_ms - self.start_ms) / 1000


@dataclass(frozen=True)
class Statistics:
    """Figures of a series during a run, in its unit; those of a counter but its
    ``total`` are per second. None: too few ticks to say.

    ``samples``: ticks within the run. ``covered``: seconds between the ticks that the
    total is of.
    """

    samples: int
    minimum: float | None = None
    mean: float | None = None
    maximum: float | None = None
    median: float | None = None
    p95: float | None = None
    total: float | None = None
    covered: float | None = None


@dataclass(frozen=True)
class Growth:
    """How far a counter grew between two readings around a run, seconds apart."""

    total: float
    seconds: float


def of_counter(points: Points, span: Span, growth: Growth | None = None) -> Statistics:
    """Rates and total of a counter; one that starts anew counts from zero again."""
    found = _of_ticks(points, span)
    if growth is None:
        return found
    mean = growth.total / growth.seconds if growth.seconds > 0 else None
    return replace(found, mean=mean, total=growth.total, covered=growth.seconds)


def _of_ticks(points: Points, span: Span) -> Statistics:
    around = _around(points, span)
    samples = _within(points, span).values.size
    if around.values.size < 2:
        return Statistics(samples)
    steps = np.diff(around.values)
    grown = np.where(steps < 0, around.values[1:], steps)
    seconds = np.diff(around.stamps) / 1000
    covered = float(seconds.sum())
    total = float(grown.sum())
    inside = (around.stamps[:-1] >= span.start_ms) & (around.stamps[1:] <= span.end_ms)
    spread = _spread((grown / seconds)[inside])
    return Statistics(
        samples, **{**spread, "mean": total / covered}, total=total, covered=covered
    )


def of_gauge(points: Points, span: Span) -> Statistics:
    """Values within a run."""
    values = _within(points, span).values
    return Statistics(values.size, **_spread(values))


def _spread(values: Values) -> dict[str, float | None]:
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
