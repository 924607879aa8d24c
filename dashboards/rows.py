"""The rows of a saved query in the form that pictures of series need."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

from core.stores.results import TermRows
from dashboards.errors import RowError
from dashboards.spec import Cell
from dashboards.units import local_name

# The largest whole number in our JSON.
_LARGEST_WHOLE = 2**63 - 1


@dataclass(frozen=True)
class SeriesRow:
    """One series of the store, and where its query places it.

    ``computed`` is the MetricsQL of virtual telemetry, which has no name in the store.
    ``unit`` is the QUDT name of its values. ``total`` is the value that they are shares
    of, ``cpus`` the number of CPUs that they are summed over (None if unknown).
    """

    component: str
    label: str
    metric: str
    db_name: str
    instname: str | None
    counter: bool
    unit: str | None
    section: str
    section_component: str
    panel: str
    group: str
    total: Fraction
    cpus: int | None = None
    computed: str = ""


def read_series(rows: TermRows) -> list[SeriesRow]:
    """The series of an answer, in order, each once per place; see SeriesRow.

    Raises RowError.
    """
    found = (_series(row) for row in rows.records() if _is_series(row))
    return list(dict.fromkeys(found))


def _is_series(row: dict[str, Any]) -> bool:
    return bool(row["metric"] and (row["dbName"] or row.get("metricsql")))


def cells(rows: TermRows) -> tuple[tuple[Cell, ...], ...]:
    """The rows as a table shows them."""
    return tuple(tuple(_cell(value) for value in row) for row in rows.values())


def matching(patterns: Sequence[str], rows: Sequence[SeriesRow]) -> list[SeriesRow]:
    """The rows with a metric that matches one of the patterns; all without patterns."""
    if not patterns:
        return list(rows)
    return [row for row in rows if any(fnmatchcase(row.metric, p) for p in patterns)]


def missing(patterns: Sequence[str], rows: Sequence[SeriesRow]) -> tuple[str, ...]:
    """The patterns that match none of the rows."""
    names = {row.metric for row in rows}
    return tuple(
        pattern
        for pattern in patterns
        if not any(fnmatchcase(name, pattern) for name in names)
    )


def _series(row: dict[str, Any]) -> SeriesRow:
    def text(column: str) -> str:
        value = row.get(column)
        return "" if value is None else str(value)

    return SeriesRow(
        component=text("component"),
        label=text("label") or text("instname") or text("metric"),
        metric=text("metric"),
        db_name=text("dbName"),
        # In the store, an empty label is the same as none.
        instname=text("instname") or None,
        counter=text("semantics").lower() == "counter",
        unit=local_name(text("unit")) or None,
        section=text("section"),
        section_component=text("sectionComponent"),
        panel=text("panel"),
        group=text("group"),
        total=_total(row.get("total")),
        cpus=_whole(row.get("cpus")),
        computed=text("metricsql"),
    )


def _total(value: Any) -> Fraction:
    """The divisor of values: a positive number; 1 if it is missing or 0."""
    if value is None or (_finite(value) and not value):
        return Fraction(1)
    if not _finite(value) or not 1e-18 <= value <= 1e18:
        raise RowError(
            f"a row has {_written(value)[:60]!r} as total: it must be a "
            "positive number, from 1e-18 to 1e18"
        )
    return Fraction(value)


def _whole(value: Any) -> int | None:
    return int(value) if _finite(value) and value >= 1 else None


def _finite(value: Any) -> bool:
    """Whether it is a finite number."""
    if isinstance(value, Decimal):
        return value.is_finite()
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int) and -_LARGEST_WHOLE <= value <= _LARGEST_WHOLE:
        return value
    if isinstance(value, float | Decimal) and _finite(value):
        number = float(value)
        return number if math.isfinite(number) else str(value)
    return _written(value)


def _written(value: Any) -> str:
    """Write values without a JSON number as text: NaN, too large numbers, dates."""
    try:
        return str(value)
    except ValueError:
        return "a number of more than 4300 digits"
