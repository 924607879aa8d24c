"""Finds the series of runs in the series store and reads their samples."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from core.stores.points import NO_POINTS, Points
from core.stores.series import SeriesKey, read_points, series_reader
from queries.run import Row, saved_rows_for_each


@dataclass(frozen=True)
class RunSeries:
    """One series of a run; ``metric`` is PCP's name, ``key`` the series store's key.

    The run lasts from ``start_ms`` to ``end_ms`` (Unix milliseconds). ``resolution``:
    seconds between two updates by its source, if longer than the period. ``cpus``: the
    number of CPUs that the metric is a sum over, if it is one and the number is known.
    """

    run: str
    host: str
    metric: str
    key: SeriesKey
    is_counter: bool
    unit: str | None
    start_ms: float
    end_ms: float
    resolution: float | None = None
    cpus: int | None = None


def series_of(
    twin: Endpoint, runs: Sequence[str], metrics: Sequence[str] = ()
) -> list[RunSeries]:
    """Return the series that runs have summaries of, or only those of some metrics."""
    names: Sequence[str | None] = metrics or (None,)
    wanted = [{"id": run, "metric": name} for run in runs for name in names]
    if not wanted:
        return []
    rows = saved_rows_for_each(twin, "observations/series", wanted)
    return [_series(row) for row in rows]


def samples_of(
    settings: Settings, series: Sequence[RunSeries]
) -> Iterator[tuple[RunSeries, Points]]:
    """Yield each series with its samples within the run; one request for each run.

    Raises SeriesError if the store does not answer.
    """
    by_run = groupby(sorted(series, key=_order), key=lambda one: one.run)
    with closing(series_reader(settings)) as store:
        for _, group in by_run:
            found = list(group)
            one = found[0]
            names = sorted({each.key.name for each in found})
            points = read_points(
                store,
                one.host,
                names,
                int(one.start_ms),
                int(one.end_ms),
            )
            yield from ((each, points.get(each.key, NO_POINTS)) for each in found)


def _order(series: RunSeries) -> tuple[str, str, str]:
    return series.run, series.metric, series.key.instance or ""


def _series(row: Row) -> RunSeries:
    return RunSeries(
        row["run"],
        row["host"],
        row["metric"],
        SeriesKey(row["dbName"], row["instance"]),
        row["semantics"] == "counter",
        row["unit"],
        _ms(row["started"]),
        _ms(row["ended"] or row["started"]),
        None if row["resolution"] is None else float(row["resolution"]),
        row["cpus"],
    )


def _ms(time: datetime) -> float:
    return time.timestamp() * 1000
