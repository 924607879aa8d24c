"""Samples of several runs over one axis: the seconds since each run started."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rdflib import URIRef

from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from core.stores.points import Points
from observations.comparison.comparing import RunGroup
from observations.comparison.run_series import RunSeries, samples_of, series_of
from observations.errors import NotMeasuredError
from observations.statistics import rates_of
from ontology.limits import BEYOND, greatest_rate
from ontology.units import RATES

_COLUMNS = ("group", "run", "metric", "instance", "seconds", "value", "bounded")


@dataclass(frozen=True)
class OverlaySeries:
    """The values of a series during a run, with ``seconds`` since its start.

    ``group`` is the position of its group, from 1. For a counter, ``per_second`` is
    set, and each value is the rate up to its time; ``unit`` is that of the values, if
    known. If the source updates a counter less often than it was sampled, its rates are
    those between two updates. ``bounded`` marks rates that exceeded what is possible.
    """

    group: int
    run: str
    metric: str
    instance: str | None
    unit: str | None
    per_second: bool
    seconds: Sequence[float]
    values: Sequence[float]
    bounded: Sequence[bool]


def overlay(
    settings: Settings,
    twin: Endpoint,
    groups: Sequence[RunGroup],
    metrics: Sequence[str],
) -> list[OverlaySeries]:
    """Return the lines of some metrics in all runs, in the order of groups and runs.

    Raises NotMeasuredError for a metric that no run measured, and SeriesError.
    """
    places = {
        run["run"]: (place, number)
        for place, group in enumerate(groups, 1)
        for number, run in enumerate(group.runs)
    }
    series = series_of(twin, list(places), metrics)
    if missing := set(metrics) - {one.metric for one in series}:
        raise NotMeasuredError(
            f"none of these runs measured {sorted(missing)[0]}: `supertwin query "
            "observations/statistics` lists what was measured"
        )
    lines = [
        line_of(places[one.run][0], one, points)
        for one, points in samples_of(settings, series)
    ]
    return sorted(lines, key=lambda line: places[line.run])


def as_documents(lines: Sequence[OverlaySeries]) -> list[dict[str, Any]]:
    """Return lines as JSON."""
    return [asdict(line) for line in lines]


def as_csv(lines: Sequence[OverlaySeries]) -> str:
    """Return lines as CSV (RFC 4180 with a header), one row for each value."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(_COLUMNS)
    writer.writerows(_rows(lines))
    return out.getvalue()


def _rows(lines: Sequence[OverlaySeries]) -> Iterator[tuple[Any, ...]]:
    for line in lines:
        points = zip(line.seconds, line.values, line.bounded, strict=True)
        for point in points:
            yield line.group, line.run, line.metric, line.instance, *point


def _unit(series: RunSeries) -> str | None:
    if not series.is_counter or series.unit is None:
        return series.unit
    return RATES.get(URIRef(series.unit))


def line_of(place: int, series: RunSeries, points: Points) -> OverlaySeries:
    """Build the line of one series of a run; ``place`` is that of its group."""
    greatest = np.inf
    if series.is_counter:
        points = rates_of(points, series.resolution)
        limit = greatest_rate(series.metric, series.unit or "", series.cpus)
        greatest = limit or np.inf
    seconds = (points.stamps - series.start_ms) / 1000
    return OverlaySeries(
        place,
        series.run,
        series.metric,
        series.key.instance,
        _unit(series),
        series.is_counter,
        np.round(seconds, 6).tolist(),
        np.minimum(points.values, greatest).tolist(),
        (points.values > greatest * BEYOND).tolist(),
    )
