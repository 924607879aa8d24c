"""Which metrics of a plan are sampled faster than their sources update them."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress

from core.errors import SeriesError
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from core.stores.points import Points
from core.stores.series import SeriesKey, read_points, series_reader
from ontology.figures import figures
from queries.run import Row, saved_rows
from sampling.resolution import source_resolution

# Load averages change every 5 s.
_HISTORY_MS = 30_000
# A plan does not wait for a store that hangs.
_SECONDS = 2.0


def slower_sources(
    settings: Settings, twin: Endpoint, host: str, plan: str
) -> dict[str, float]:
    """The resolution in seconds of each metric of a plan that is sampled faster.

    It is learned from the samples of other plans in the last half minute. A metric that
    was not sampled then is left out; so are all if the store does not answer.
    """
    rows = saved_rows(twin, "telemetry/one-plan", {"host": host, "plan": plan})
    metrics = {str(row["samplerName"]): row for row in rows}
    if not metrics:
        return {}
    with suppress(SeriesError):
        series = _history(settings, host, list(metrics.values()))
        return dict(_slower(metrics, series))
    return {}


def notes(slower: Mapping[str, float], period_ms: int) -> Iterator[str]:
    """Describe each metric in a line."""
    for metric, seconds in slower.items():
        yield (
            f"{metric}: its source updates it every {figures(1000 * seconds)} ms, so "
            f"samples every {period_ms} ms repeat its values"
        )


def _history(
    settings: Settings, host: str, rows: Sequence[Row]
) -> Mapping[SeriesKey, Points]:
    now_ms = time.time_ns() // 1_000_000
    names = sorted({str(row["dbName"]) for row in rows})
    start_ms = now_ms - _HISTORY_MS
    with closing(series_reader(settings)) as store:
        return read_points(store, host, names, start_ms, now_ms, _SECONDS)


def _slower(
    metrics: Mapping[str, Row], series: Mapping[SeriesKey, Points]
) -> Iterator[tuple[str, float]]:
    for metric, row in sorted(metrics.items()):
        found = source_resolution(
            [points for key, points in series.items() if key.name == row["dbName"]],
            str(row["pcpUnits"] or ""),
            is_counter=row["semantics"] == "counter",
        )
        if found is not None and found > float(row["period"]):
            yield metric, found
