"""Limits values to what is possible, and marks where they differ from measurements.

A rate is divided by the time between two ticks, and one of them may have been fetched
late.
"""

from collections.abc import Sequence

from ontology.limits import BEYOND

Column = list[float | None]
# A bounded value: the index of its series, its position, and the measured value.
BoundedMark = tuple[int, int, float]


def bounded(
    columns: Sequence[Column], greatest: float | None, least: float | None = None
) -> list[Column]:
    """Limit the values of columns; with ``greatest`` None, change nothing."""
    if greatest is None:
        return list(columns)
    low = float("-inf") if least is None else least
    return [[_within(value, low, greatest) for value in each] for each in columns]


def bounded_sums(columns: Sequence[Column], greatest: float) -> list[Column]:
    """Scale the columns where their sum exceeds what is possible."""
    sums = [sum(filter(None, values)) for values in zip(*columns, strict=True)]
    return [
        [
            value
            if value is None or total <= greatest * BEYOND
            else value * greatest / total
            for value, total in zip(column, sums, strict=True)
        ]
        for column in columns
    ]


def bounded_marks(
    measured: Sequence[Column], shown: Sequence[Column]
) -> list[BoundedMark]:
    """List the positions where the shown values differ from the measured ones."""
    return [
        (series, place, value)
        for series, pair in enumerate(zip(measured, shown, strict=True))
        for place, (value, drawn) in enumerate(zip(*pair, strict=True))
        if value is not None and value != drawn
    ]


def _within(value: float | None, low: float, high: float) -> float | None:
    slack = high * (BEYOND - 1)
    if value is None or low - slack <= value <= high + slack:
        return value
    return min(max(value, low), high)
