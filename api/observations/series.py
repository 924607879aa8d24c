"""``/observations/{id}/series``: the series of one metric during a recorded run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import orjson
from fastapi import APIRouter, Query, Request, Response

from api import formats
from api.bounds import Column, bounded
from api.connection import while_connected
from api.limits import greatest_on
from api.observations.measured import (
    MeasuredSeries,
    RunSpan,
    find_measured,
    find_span,
    observation_of,
    runs_of_group,
)
from api.observations.parameters import POINTS, MetricName, Points, RunId
from api.observations.readings import RunGrid, grid_of, read, step_of, window
from api.services import Services, Use
from api.sparql import response
from api.twin import decoded
from core.errors import ApiError, api_error
from observations.errors import NotMeasuredError, UnknownRunError
from ontology.figures import figures
from ontology.iris import decode_id

router = APIRouter(tags=["Observations"])

_DAY = 86_400.0
# All values are in memory at the same time.
_MOST_VALUES = 2_000_000


@dataclass(frozen=True)
class RecordedRun:
    """A recorded run with its series of one metric."""

    id: str
    span: RunSpan
    measured: Sequence[MeasuredSeries]

    @property
    def resolution(self) -> float | None:
        """The seconds between two updates of the metric by its source, if longer."""
        return self.measured[0].resolution


@router.get(
    "/observations/{id:run}/series",
    summary="A metric during a run",
    response_class=Response,
    responses={
        400: {"description": "Invalid range of time, or too many values"},
        404: {"description": "No such run, or it has no summary of the metric"},
        503: {"description": "The series store or the graph store is unreachable"},
    },
)
async def run_series(
    request: Request,
    services: Use,
    id_: RunId,
    metric: MetricName,
    start: Annotated[
        float | None,
        Query(allow_inf_nan=False, description="Seconds after the run's start"),
    ] = None,
    end: Annotated[
        float | None, Query(allow_inf_nan=False, description="The same")
    ] = None,
    points: Points = POINTS,
) -> Response:
    """`times` in seconds after the start of the run, from a period before it to one
    after its end; `values` with a list for each series, null for a missing sample;
    `runs` and `instances` have the run and instance of each. The id of a group gives
    the series of all its runs, each with times since its own start.

    Counters are rates; `step` is in seconds, and of a counter no shorter than the time
    between two updates by its source. `bounded` has [series, place, measured] for each
    rate that exceeds what there can be, and is bounded.
    """
    work = _read(services, decoded(id_), metric, start, end, points)
    return response(await while_connected(request, work), formats.JSON)


async def _read(
    services: Services,
    id_: str,
    metric: str,
    start: float | None,
    end: float | None,
    points: int,
) -> bytes:
    runs = [run for run in await _runs(services, id_, metric) if run.measured]
    if not runs:
        detail = (
            f"run {id_[:80]} did not measure {metric[:80]!r}: "
            "see /queries/observations/statistics"
        )
        raise api_error(NotMeasuredError(detail))
    _check_size(sum(len(run.measured) for run in runs), points)
    grid = _grid(runs, start, end, points)
    measured, shown = list[Column](), list[Column]()
    # One after another, because a group may have a thousand runs.
    for run in runs:
        columns = await _columns(services, run, grid)
        greatest = await greatest_on(services, run.span.host, run.measured[0].metric)
        measured += columns
        shown += bounded(columns, greatest)
    document = window(metric, grid, measured, shown)
    series = [(run.id, one.instance) for run in runs for one in run.measured]
    ids, instances = zip(*series, strict=True)
    return orjson.dumps({**document, "runs": ids, "instances": instances})


async def _runs(services: Services, id_: str, metric: str) -> list[RecordedRun]:
    """Return the run, or those of a group, with their series of a metric."""
    try:
        return [await _run(services, id_, metric)]
    except ApiError as error:
        if error.code != UnknownRunError.code:
            raise
        group = await runs_of_group(services, id_)
        if not group:
            raise
    ids = (decode_id(str(run["run"]).rpartition("/")[2]) for run in group)
    return [await _run(services, one, metric) for one in ids]


async def _run(services: Services, id_: str, metric: str) -> RecordedRun:
    span = await find_span(services, id_)
    every = await find_measured(services, observation_of(services.iris, id_))
    return RecordedRun(id_, span, [one for one in every if one.metric.name == metric])


def _grid(
    runs: Sequence[RecordedRun], start: float | None, end: float | None, points: int
) -> RunGrid:
    """Return the sampling times of one run; of several, times since their starts."""
    span = max((run.span for run in runs), key=lambda span: span.seconds)
    period = span.period_ms / 1000
    first = -period if start is None else max(start, -_DAY)
    last = span.seconds + period if end is None else min(end, span.seconds + _DAY)
    check_range(first, last)
    resolution = max((run.resolution for run in runs), key=lambda each: each or 0)
    if len(runs) == 1:
        return grid_of(span, first, last, points, resolution)
    step = step_of(span.period_ms, last - first, points, resolution)
    return RunGrid(1000 * first, step, int(1000 * (last - first) // step) + 1)


async def _columns(services: Services, run: RecordedRun, grid: RunGrid) -> list[Column]:
    metric, instances = run.measured[0].metric, [one.instance for one in run.measured]
    return await read(services, run.span, metric, instances, grid, run.resolution)


def _check_size(series: int, points: int) -> None:
    if series * points > _MOST_VALUES:
        most = _MOST_VALUES // series
        detail = f"{series} series of {points} points: ask for points={most} at most"
        raise ApiError(400, "too-many-values", "Too many values", detail)


def check_range(start: float, end: float) -> None:
    """Raise ApiError if the start is not before the end."""
    if start >= end:
        first, last = figures(start, 15), figures(end, 15)
        detail = f"start {first} is not before end {last}: both are seconds"
        raise ApiError(400, "bad-times", "Not a range of time", detail)
