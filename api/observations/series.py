"""``/observations/{id}/series``: what one metric did during a recorded run."""

import math
from typing import Annotated

import orjson
from fastapi import APIRouter, Query, Request, Response

from api import formats
from api.bounds import bounded
from api.connection import while_connected
from api.limits import greatest_on
from api.observations.measured import find_measured, find_span, observation_of
from api.observations.parameters import POINTS, MetricName, Points, RunId
from api.observations.readings import grid_of, read, window
from api.services import Services, Use
from api.sparql import response
from api.twin import decoded
from core.errors import ApiError, NotFoundError
from ontology.figures import figures

router = APIRouter(tags=["Observations"])

_DAY = 86_400.0


@router.get(
    "/observations/{id_}/series",
    summary="What a metric did during a run",
    response_class=Response,
    responses={
        400: {"description": "Times that are no range"},
        404: {"description": "No such run, or it has no summary of the metric"},
        503: {"description": "The series store or the graph store is away"},
    },
)
async def run_series(
    request: Request,
    services: Use,
    id_: RunId,
    metric: MetricName,
    start: Annotated[
        float | None, Query(description="Seconds after the run's start")
    ] = None,
    end: Annotated[float | None, Query(description="The same")] = None,
    points: Points = POINTS,
) -> Response:
    """`times` in seconds after the start of the run, from a period before it to one
    after its end; `values` with a list for each of `instances`, null where there is no
    sample. Counters are rates; `step` is in seconds, and of a counter no shorter than
    the time between two updates by its source. `bounded` has [series, place,
    measured] for each rate that exceeds what there can be, and is bounded.
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
    span = await find_span(services, id_)
    every = await find_measured(services, observation_of(services.iris, id_))
    own = [one for one in every if one.metric.name == metric]
    if not own:
        detail = f"run {id_[:80]} has no summary of {metric[:80]!r}"
        raise NotFoundError("not-measured", "Not measured", detail)
    period = span.period_ms / 1000
    first = -period if start is None else max(start, -_DAY)
    last = span.seconds + period if end is None else min(end, span.seconds + _DAY)
    check_range(first, last)
    grid = grid_of(span, first, last, points, own[0].resolution)
    instances = [one.instance for one in own]
    columns = await read(
        services, span, own[0].metric, instances, grid, own[0].resolution
    )
    shown = bounded(columns, await greatest_on(services, span.host, own[0].metric))
    found = {**window(metric, grid, columns, shown), "instances": instances}
    return orjson.dumps(found)


def check_range(start: float, end: float) -> None:
    """Raise ApiError for times that are none, or in no order."""
    if not (math.isfinite(start) and math.isfinite(end) and start < end):
        first, last = figures(start, 15), figures(end, 15)
        detail = f"start {first} is not before end {last}: both are seconds"
        raise ApiError(400, "bad-times", "Not a range of time", detail)
