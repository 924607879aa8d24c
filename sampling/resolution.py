"""How often a source updates a metric, learned from its samples.

A counter of time advances in steps: the kernel counts CPU time in ticks of 10 ms. All
its values are multiples of the step, so their greatest common divisor is the step, even
while nothing runs. For any other metric, the resolution is the shortest time between
two changes, provided that random changes would hardly ever keep that distance.
"""

from collections.abc import Collection

import numpy as np

from core.stores.points import Points, Stamps
from ontology.units import SECONDS

# With fewer values, a common divisor may be chance.
_FEWEST_VALUES = 16
# Random changes would keep the distance with probability e^-9, about 1 in 10,000.
_SURE = 9.0
_EXACT = 2.0**53


def source_resolution(
    series: Collection[Points], pcp_units: str = "", *, is_counter: bool = False
) -> float | None:
    """Seconds between two updates of a metric, from samples of its instances.

    None if the samples do not tell, or if it may change with each of them.
    """
    seconds = SECONDS.get(pcp_units.strip()) if is_counter else None
    if seconds is not None and (step := _common_step(series)):
        return step * seconds
    return _shortest_change(series)


def _common_step(series: Collection[Points]) -> int | None:
    """The greatest common divisor of all values, if there are enough of them."""
    if not series:
        return None
    values = np.unique(np.concatenate([points.values for points in series]))
    values = values[values > 0]
    is_whole = np.all(values == np.floor(values)) and np.all(values < _EXACT)
    if values.size < _FEWEST_VALUES or not is_whole:
        return None
    return int(np.gcd.reduce(values.astype(np.int64)))


def _shortest_change(series: Collection[Points]) -> float | None:
    intervals = [_intervals(points) for points in series]
    if not sum(one.size for one in intervals):
        return None
    return _if_sure(
        np.concatenate(intervals),
        np.concatenate([np.diff(points.stamps) for points in series]),
    )


def _if_sure(intervals: Stamps, periods: Stamps) -> float | None:
    """The shortest interval in seconds; None if it may be chance."""
    period = float(np.median(periods))
    shortest = float(intervals.min())
    surprise = intervals.size * (shortest - period) / float(intervals.mean())
    return shortest / 1000 if surprise >= _SURE else None


def _intervals(points: Points) -> Stamps:
    """Milliseconds between the ticks at which a series changed."""
    changed = np.flatnonzero(np.diff(points.values)) + 1
    return np.diff(points.stamps[changed])
