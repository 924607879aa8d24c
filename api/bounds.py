"""Values bounded by what there can be, and what was measured where they are.

A rate divides by the time between two ticks, of which one may have been fetched late.
"""

from collections.abc import Sequence

from ontology.limits import BEYOND

Column = list[float | None]
# Of a value that is bounded: its series, its place, and what was measured.
Mark = tuple[int, int, float]


def bounded(
    columns: Sequence[Column], greatest: float | None, least: float | None = None
) -> list[Column]:
    """The columns with no value beyond the limits; None: there is no limit."""
    if greatest is None:
        return list(columns)
    low = float("-inf") if least is None else least
    return [[_within(value, low, greatest) for value in each] for each in columns]


def bounded_sums(columns: Sequence[Column], greatest: float) -> list[Column]:
    """The columns scaled where they add up to more than there can be."""
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


def marks(measured: Sequence[Column], shown: Sequence[Column]) -> list[Mark]:
    """Where the values that are shown are not those that were measured."""
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
