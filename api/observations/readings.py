"""Reads the series of runs for charts, with times counted from the run's start.

A value at a time represents the step before it; a step without a sample has no value.
Counters are read as rates, others as the mean over the step.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from api.bounds import Column, bounded_marks
from api.metrics import MetricInfo
from api.observations.measured import RunSpan
from api.services import Services
from core.stores.errors import StoreError
from core.stores.points import Points
from observations.statistics import rates_of
from ontology.selectors import escaped, pattern, selector

MOST_POINTS = 2000
# Longer lists of instances are filtered in the answer: the store limits queries to 16
# KiB.
_LONGEST = 8_000


@dataclass(frozen=True)
class RunGrid:
    """``count`` times, ``step_ms`` apart; the first counts from the start of a run."""

    first_ms: float
    step_ms: int
    count: int

    @property
    def seconds(self) -> list[float]:
        """All times, in seconds after the start."""
        times = (self.first_ms + i * self.step_ms for i in range(self.count))
        return [round(time / 1000, 6) for time in times]


def grid_of(
    span: RunSpan,
    start: float,
    end: float,
    points: int,
    resolution: float | None = None,
) -> RunGrid:
    """Return the sampling times between two times (seconds after the start of a run).

    Samples are taken at multiples of the period. If there are more than can be shown,
    or if the source updates less often, several samples share a step.
    """
    step = step_of(span.period_ms, end - start, points, resolution)
    first = math.ceil((span.start_ms + 1000 * start) / step) * step
    last = math.floor((span.start_ms + 1000 * end) / step) * step
    # Include the last step although the end cuts it short.
    count = max(1, round((last - first) / step) + 1)
    return RunGrid(first - span.start_ms, step, count)


def step_of(
    period_ms: int, seconds: float, points: int, resolution: float | None = None
) -> int:
    """Return the shortest multiple of a period that needs no more points, in ms.

    It is not shorter than ``resolution``: the seconds between two updates by a source.
    """
    least = round(1000 * (resolution or 0), 6)
    return period_ms * math.ceil(max(1000 * seconds / points, least, 1) / period_ms)


async def read(
    services: Services,
    span: RunSpan,
    metric: MetricInfo,
    instances: Sequence[str | None],
    grid: RunGrid,
    resolution: float | None = None,
) -> list[Column]:
    """Return one column for each instance, in the metric's drawn unit.

    ``resolution``: seconds between two updates of a counter by its source, if longer
    than a period; rates then span two updates. Raises StoreError.
    """
    scale = float(metric.drawn[1])
    window = f"{_series(span.host, metric, instances)}[{grid.step_ms}ms]"
    if resolution is not None:
        return await _update_rates(
            services, span, window, instances, grid, resolution, scale
        )
    if metric.is_counter:
        # Without samples, a rate would be 0.
        label = "instname" if any(i is not None for i in instances) else ""
        expression = f"rate({window}) if on ({label}) last_over_time({window})"
    else:
        expression = f"avg_over_time({window})"
    return await _columns(services, span, expression, instances, grid, scale)


async def _update_rates(
    services: Services,
    span: RunSpan,
    window: str,
    instances: Sequence[str | None],
    grid: RunGrid,
    resolution: float,
    scale: float,
) -> list[Column]:
    """Return the rates between the last updates of the steps.

    An update may be seen slightly early or late. Near the end of a step, this shifts an
    update from one step to the next.
    """
    earlier = RunGrid(grid.first_ms - grid.step_ms, grid.step_ms, grid.count + 1)
    values, times = await asyncio.gather(
        *(
            _columns(services, span, f"{name}({window})", instances, earlier)
            for name in ("last_over_time", "tlast_change_over_time")
        )
    )
    first_ms = round(span.start_ms + earlier.first_ms)
    ends = [first_ms + place * grid.step_ms for place in range(earlier.count)]
    columns = []
    for counted, updated in zip(values, times, strict=True):
        moments = [
            end if time is None else round(1000 * time)
            for end, time in zip(ends, updated, strict=True)
        ]
        rates = _rates(moments, counted, resolution, span.period_ms)
        found = (rates.get(moment) for moment in moments[1:])
        columns.append([None if rate is None else rate * scale for rate in found])
    return columns


def _rates(
    moments: Sequence[int], counted: Column, resolution: float, period_ms: int
) -> dict[int, float]:
    known = [
        (moment, value)
        for moment, value in zip(moments, counted, strict=True)
        if value is not None
    ]
    stamps = np.array([moment for moment, _ in known], np.int64)
    values = np.array([value for _, value in known], np.float64)
    found = rates_of(Points(stamps, values), resolution, period_ms)
    return dict(zip(found.stamps.tolist(), found.values.tolist(), strict=True))


async def _columns(
    services: Services,
    span: RunSpan,
    expression: str,
    instances: Sequence[str | None],
    grid: RunGrid,
    scale: float = 1.0,
) -> list[Column]:
    times = {
        "start": f"{(span.start_ms + grid.first_ms) / 1000:.3f}",
        "end": f"{_end_ms(span, grid) / 1000:.3f}",
        "step": f"{grid.step_ms}ms",
    }
    found = await _result(services, expression, times)
    by_instance = {one["metric"].get("instname"): one["values"] for one in found}
    return [_column(by_instance.get(i, ()), span, grid, scale) for i in instances]


def _end_ms(span: RunSpan, grid: RunGrid) -> float:
    return span.start_ms + grid.first_ms + (grid.count - 1) * grid.step_ms


def _series(host: str, metric: MetricInfo, instances: Sequence[str | None]) -> str:
    names = [name for name in instances if name is not None]
    series = selector(metric.db_name, {"hostname": host})
    matched = f'instname=~"{escaped(pattern(names))}"' if names else ""
    if matched and len(matched.encode()) < _LONGEST:
        series = f"{series.removesuffix('}')},{matched}}}"
    return series


async def _result(
    services: Services, query: str, times: Mapping[str, str]
) -> list[dict[str, Any]]:
    form = {"query": query, "nocache": "1", **times}
    timeout = services.settings.query_timeout
    answer = await services.store.post("/api/v1/query_range", form, timeout)
    try:
        found: list[dict[str, Any]] = orjson.loads(answer.content)["data"]["result"]
    except (ValueError, KeyError, TypeError):
        status = answer.status
        raise StoreError(f"{services.store.url} answered {status}, no result") from None
    return found


def _column(
    points: Sequence[Sequence[Any]], span: RunSpan, grid: RunGrid, scale: float
) -> Column:
    column: Column = [None] * grid.count
    first = span.start_ms + grid.first_ms
    for at, text in points:
        place = round((1000 * float(at) - first) / grid.step_ms)
        value = float(text) * scale
        if 0 <= place < grid.count and math.isfinite(value):
            column[place] = value
    return column


def _at(places: Sequence[int], columns: Sequence[Column]) -> list[Column]:
    return [[column[i] for i in places] for column in columns]


def together(columns: Sequence[Column]) -> Column:
    """Return the mean of several columns at each position, ignoring missing values."""
    return [_mean(values) for values in zip(*columns, strict=True)]


def added(columns: Sequence[Column]) -> Column:
    """Return the sum of several columns at each position, ignoring missing values."""
    return [_sum(values) for values in zip(*columns, strict=True)]


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def window(
    panel: str, grid: RunGrid, measured: Sequence[Column], shown: Sequence[Column]
) -> dict[str, Any]:
    """Return the data of a chart, without times at which no series has a value.

    A source that is slower than its period leaves most times empty. ``bounded`` lists
    where the shown value differs from the measured one.
    """
    kept = [i for i in range(grid.count) if any(c[i] is not None for c in shown)]
    times = grid.seconds
    gaps = sorted(b - a for a, b in zip(kept, kept[1:], strict=False))
    usual = gaps[len(gaps) // 2] if gaps else 1
    return {
        "panel": panel,
        "step": usual * grid.step_ms / 1000,
        "times": [times[i] for i in kept],
        "values": _at(kept, shown),
        "bounded": bounded_marks(_at(kept, measured), _at(kept, shown)),
        "why": [],
    }
